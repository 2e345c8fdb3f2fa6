"""What a command says to type instead is typed, and works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

from tests.cli.conftest import STEADY
from tests.conftest import Ending, Run
from tests.sql.fixing import PACKAGE, gathered, places

pytest.importorskip("scramp", reason="the server needs scramp (probe-sql[serve])")

from probe_sql.serve import server
from probe_sql.serve.opening import Opening, check_opening, tls_context

ROOMS = (
    "cli/arguments.py", "cli/commands.py", "cli/completions.py", "cli/main.py", "cli/plot.py",
    "cli/prompt.py", "cli/serving.py", "cli/shell.py", "cli/show.py", "cli/terminal.py",
    "owner", "serve/opening.py", "serve/users.py", "serve/private_files.py",
)  # fmt: skip
PASSWORD = "correct horse\n"
ASK = shlex.quote(STEADY)
USER = "user clinic.duckdb"


@dataclass(frozen=True, slots=True)
class Case:
    """A command, what its fix says, and the commands that do it, the last of which was refused."""

    typed: str
    fix: str
    then: tuple[str, ...]
    stdin: str = ""
    then_stdin: str = PASSWORD


CASES = [
    Case("explain clinic.duckdb SELECT 1", 'put the query into quotes: ".."',
         (f"explain clinic.duckdb {ASK}",)),
    Case("explain", 'probe-sql explain --policy FILE "SELECT ...", or put DB before the query',
         (f"explain --policy clinic.toml {ASK}", f"explain clinic.duckdb {ASK}")),
    Case(f"explain {ASK}", 'probe-sql explain --policy FILE "SELECT .."',
         (f"explain --policy clinic.toml {ASK}",)),
    Case("explain --policy clinic.toml", "give it in quotes, or on standard input",
         (f"explain --policy clinic.toml {ASK}", "explain --policy clinic.toml"),
         then_stdin=STEADY),
    Case(f"explain missing.duckdb {ASK}", "check the path", (f"explain clinic.duckdb {ASK}",)),
    Case(f"explain 'the copy.duckdb' {ASK}",
         "name it with --policy FILE, or draft one: probe-sql init 'the copy.duckdb'",
         (f"explain 'the copy.duckdb' --policy clinic.toml {ASK}",)),
    Case("demo --dir clinic.toml", "name another --dir", ("demo --dir demo",)),
    Case("init empty.duckdb --draft", "make its tables and views first, or name another database",
         ("init clinic.duckdb --draft --output draft.toml",)),
    Case(f"{USER} add", "probe-sql user DB add NAME", (f"{USER} add noor",)),
    Case(f"{USER} list noor", "probe-sql user DB list", (f"{USER} list",)),
    Case(f"{USER} list --owner", "probe-sql user DB add NAME --owner",
         (f"{USER} add olga --owner",)),
    Case(f"{USER} add noor", "probe-sql user DB add NAME < FILE", (f"{USER} add noor",)),
    Case(f"{USER} password 'Dr. Wu'", "probe-sql user DB password NAME < FILE",
         (f"{USER} password 'Dr. Wu'",)),
    Case(f"{USER} add 'dr. wu'", "probe-sql user DB password 'Dr. Wu' changes the password",
         (f"{USER} password 'Dr. Wu'",), PASSWORD),
    Case(f"{USER} remove noor", "users: Dr. Wu", (f"{USER} remove 'Dr. Wu'",)),
    Case(f"{USER} add ' maria'", "probe-sql user DB add maria", (f"{USER} add maria",), PASSWORD),
    Case(f"{USER} add {'m' * 64}", "choose a shorter one", (f"{USER} add maria",), PASSWORD),
    Case(f"{USER} add maria", "use a longer one", (f"{USER} add maria",), "short\n"),
    Case(f"{USER} add maria", "use a shorter one", (f"{USER} add maria",), "x" * 1001),
    Case(f"{USER} add maria", "leave it out", (f"{USER} add maria",), "correct\0 horse"),
    Case(f"{USER} add maria", "use letters, digits and punctuation", (f"{USER} add maria",),
         "correct \ue000 horse"),
    Case(f"{USER} list --ledger damaged",
         "restore it from a backup, or remove it and add the users again",
         ("rm damaged.users", f"{USER} add maria --ledger damaged")),
    Case(f"{USER} list --ledger folder", "run this as the server's account",
         (f"{USER} list",)),
    Case("serve clinic.duckdb --console-port 8000", "add --console",
         ("serve clinic.duckdb --console --console-port 8000",)),
    Case("serve clinic.duckdb --console --no-login",
         "probe-sql user DB add NAME, and leave --no-login out; for yourself alone:"
         " probe-sql console DB",
         (f"{USER} add maria", "serve clinic.duckdb --console",
          "console clinic.duckdb --analyst maria")),
    Case("console wu.duckdb", "--analyst 'Dr. Wu'", ("console wu.duckdb --analyst 'Dr. Wu'",)),
    Case("serve clinic.duckdb --host 0.0.0.0 --no-login",
         "leave --host out, or add users and leave --no-login out",
         ("serve clinic.duckdb --no-login",)),
    Case("serve clinic.duckdb --tls-cert cert.pem", "--tls-cert FILE --tls-key FILE",
         ("serve clinic.duckdb --tls-cert cert.pem --tls-key key.pem",)),
    Case("serve clinic.duckdb --tls-cert cert.pem --tls-key key.pem --tls-self-signed",
         "leave --tls-self-signed out",
         ("serve clinic.duckdb --tls-cert cert.pem --tls-key key.pem",)),
    Case("serve clinic.duckdb --host 0.0.0.0",
         "--tls-cert FILE --tls-key FILE; for trials --tls-self-signed",
         ("serve clinic.duckdb --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem",
          "serve clinic.duckdb --host 0.0.0.0 --tls-self-signed")),
    Case("serve clinic.duckdb --tls-cert cert.pem --tls-key loose.pem", "chmod go= loose.pem",
         ("chmod go= loose.pem", "serve clinic.duckdb --tls-cert cert.pem --tls-key loose.pem")),
    Case("serve clinic.duckdb --tls-cert key.pem --tls-key key.pem",
         "name PEM files with --tls-cert and --tls-key",
         ("serve clinic.duckdb --tls-cert cert.pem --tls-key key.pem",)),
    Case("serve 'wu wu.duckdb' --policy wu.toml --ledger kept",
         "probe-sql user 'wu wu.duckdb' add NAME --policy wu.toml --ledger kept",
         ("user 'wu wu.duckdb' add NAME --policy wu.toml --ledger kept",
          "serve 'wu wu.duckdb' --policy wu.toml --ledger kept")),
    Case("serve wu.duckdb", "probe-sql user wu.duckdb add NAME",
         ("user wu.duckdb add NAME", "serve wu.duckdb")),
]  # fmt: skip
STREAM = "a stream of the process: tests/cli/test_streams.py"
TYPED = "typed at a terminal: tests/serve/test_users.py"
ANSWERED = "answered at a terminal: tests/owner/test_interview.py"
NEEDED = "the package is installed here: test_what_pip_is_to_install_is_there_to_install"
WORDS = {
    "cli/commands.py: 'convert it, with iconv for instance'": "tests/cli/test_start.py",
    "cli/commands.py: 'give the query in quotes'": STREAM,
    'cli/commands.py: "name the owner\'s policy with --policy FILE"': "of a server",
    "cli/serving.py: \"pip install 'probe-sql[serve]'\"": NEEDED,
    "cli/serving.py: 'try again'": TYPED,
    "cli/serving.py: 'type one, or pipe it in'": TYPED,
    "cli/terminal.py: 'leave it open, or send it to a file'": STREAM,
    "cli/terminal.py: 'make room, or send it elsewhere'": STREAM,
    "owner/check.py: 'remove the directory NAME.bounded by hand'": "of a disk that fails",
    (
        'owner/draft.py: f"make one database of views and draft its policy: in DuckDB, ATTACH'
        " 'all.duckdb' AS a; USE a; {' '.join(views)}\""
    ): "done in tests/owner/test_interview.py",
    "owner/interview.py: 'answer people for the tables that analysts ask about'": ANSWERED,
    (
        "owner/interview.py: f'{draft} --header, if that line holds their names; otherwise {draft}"
        " --draft'"
    ): ANSWERED,
    "serve/opening.py: 'install it, or name a certificate'": "of a machine without openssl",
    "serve/opening.py: 'run it on Linux or macOS; clients may be anywhere'": "of Windows",
    "serve/users.py: \"pip install 'probe-sql[serve]'\"": NEEDED,
}


@pytest.fixture
def _files(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources, a user, a certificate; a server that begins is looked at, and ends."""
    (clinic / "clinic.duckdb").chmod(0o600)
    (clinic / "clinic.toml").chmod(0o600)
    for name in ("the copy", "wu", "wu wu"):
        shutil.copy(clinic / "clinic.duckdb", clinic / f"{name}.duckdb")
    listed = (clinic / "clinic.toml").read_text(encoding="utf-8").replace("maria =", '"Dr. Wu" =')
    (clinic / "wu.toml").write_text(listed, encoding="utf-8")
    (clinic / "wu.toml").chmod(0o600)
    duckdb.connect("empty.duckdb").close()
    (clinic / "damaged.users").touch(0o600)
    (clinic / "folder.users").mkdir(0o700)

    async def begun(opening: Opening, *_: object) -> None:
        check_opening(opening)
        tls_context(opening)

    monkeypatch.setattr(server, "serve", begun)
    monkeypatch.setattr(server, "alone", begun)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate and its key."""
    from probe_sql.serve.opening import _sign_oneself

    folder = tmp_path_factory.mktemp("certificate")
    _sign_oneself("127.0.0.1", str(folder / "cert.pem"), str(folder / "key.pem"))
    (folder / "key.pem").chmod(0o600)
    return folder


@pytest.fixture
def _prepared(run: Run, clinic: Path, certificate: Path, _files: None) -> None:
    for name in ("cert.pem", "key.pem"):
        shutil.copy2(certificate / name, clinic / name)
    (clinic / "loose.pem").write_bytes((certificate / "key.pem").read_bytes())
    (clinic / "loose.pem").chmod(0o644)
    assert run("user", "clinic.duckdb", "add", "Dr. Wu", stdin=PASSWORD).code == 0


def typed(run: Run, command: str, stdin: str) -> Ending:
    words = shlex.split(command)
    if words[0] in ("rm", "chmod"):
        return Ending(subprocess.run(words, check=False).returncode, "", "")
    return run(*words, stdin=stdin)


@pytest.mark.usefixtures("_prepared")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.typed} {case.fix}"[:70])
def test_a_fix_that_is_typed_works(run: Run, case: Case) -> None:
    wrong = typed(run, case.typed, case.stdin)
    assert wrong.code != 0
    assert f"fix: {case.fix}" in re.sub(r"\s+", " ", wrong.err)
    for command in case.then:
        right = typed(run, command, case.then_stdin)
        assert right.code == 0, right.err


@pytest.mark.usefixtures("_prepared")
def test_every_place_that_builds_a_fix_is_reached(run: Run) -> None:
    with gathered(ROOMS) as reached:
        for case in CASES:
            typed(run, case.typed, case.stdin)
    built = {place.key for place in places(ROOMS)}
    assert not built - reached - set(WORDS), sorted(built - reached - set(WORDS))
    assert not set(WORDS) - built, "these places are gone"
    assert not set(WORDS) & reached, "these are done by a case"


def test_what_pip_is_to_install_is_there_to_install() -> None:
    """No fix names a set of packages that the project does not have."""
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    known = set(project["project"]["optional-dependencies"])
    sources = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    named = set(re.findall(r"probe-sql\[(\w+)\]", sources))
    assert named
    assert named <= known
