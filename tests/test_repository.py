"""What a fresh clone promises: commands, documents, version, and a cheap import."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import probe_sql
from benchmarks.pictures import PICTURES
from tests.examples import clinic

ROOT = Path(__file__).parent.parent
DECISIONS = ROOT / "docs" / "decisions"
FOLDERS = (".ci", "benchmarks", "datasets", "docs", "grammar", "probe_sql", "tests")

# --- commands and documents ----------------------------------------------------------


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_readme_shows_the_three_commands() -> None:
    lines = text("README.md").splitlines()
    assert any(line.startswith("make demo") for line in lines)
    assert any(line.startswith("make test") for line in lines)
    assert any(line.startswith("make experiments") for line in lines)


def test_ci_is_executable_and_runs_tests_then_lint() -> None:
    commands = [line for line in text(".ci/run").splitlines() if line.startswith("make ")]
    assert commands == [
        "make test",
        "make test-service",
        "make test-clients",
        "make test-figures",
        "make test-wheel",
        "make test-engines",
        "make mutants SAMPLE=40",
        "make site",
        "make lint",
    ]
    assert "set -euo pipefail" in text(".ci/run")
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_pyeda_compiles_c_and_is_an_extra_that_make_installs() -> None:
    project = tomllib.loads(text("pyproject.toml"))["project"]
    assert not [name for name in project["dependencies"] if name.startswith("pyeda")]
    assert [name[:5] for name in project["optional-dependencies"]["pyeda"]] == ["pyeda"]
    assert '"$$LIST_REQUIREMENTS" pyeda' in text("Makefile")


def test_changelog_has_an_unreleased_section() -> None:
    assert re.search(r"^## \[?Unreleased\]?$", text("CHANGELOG.md"), flags=re.MULTILINE)


def test_every_decision_has_its_own_number_and_is_listed_in_order() -> None:
    files = sorted(p.name for p in DECISIONS.glob("*.md") if p.name != "README.md")
    assert files
    numbers = [name[:4] for name in files]
    assert all(re.fullmatch(r"\d{4}-[a-z0-9-]+\.md", name) for name in files)
    assert len(set(numbers)) == len(numbers)
    assert re.findall(r"\]\((\d{4}[^)]*)\)", text("docs/decisions/README.md")) == files


def test_relative_links_of_documents_lead_somewhere() -> None:
    broken = [
        f"{file.relative_to(ROOT)}: {target}"
        for file in our_files()
        if file.suffix == ".md"
        for target in re.findall(r"\]\(([^)#\s]+)", file.read_text(encoding="utf-8"))
        if "://" not in target and not (file.parent / target).exists()
    ]
    assert not broken


def test_every_path_that_contributing_names_exists() -> None:
    named = re.findall(r"`([\w.-]+/[\w./-]+|[A-Z]+\.md)`", text("CONTRIBUTING.md"))
    assert len(named) > 40
    assert not [path for path in named if not (ROOT / path).exists()]


def cited_sections(content: str) -> list[str]:
    """Sections that a text cites as `theory 5`, `theory 2.1` or `theory 2.4 and 5`."""
    number = r"\d+(?:\.\d+)?"
    cited = re.findall(rf"\btheory ({number}(?:(?:, | and ){number})*)", content)
    return [section for sections in cited for section in re.findall(number, sections)]


def test_every_reference_to_the_theory_resolves() -> None:
    sections = set(re.findall(r"^##+ (\d+(?:\.\d+)?)\.? ", text("docs/theory.md"), re.MULTILINE))
    files = [
        *(ROOT / "probe_sql").rglob("*.py"),
        *(ROOT / "docs").rglob("*.md"),
        *ROOT.glob("*.md"),
    ]
    cited = {
        (str(file.relative_to(ROOT)), section)
        for file in files
        for section in cited_sections(file.read_text(encoding="utf-8"))
    }
    assert len(cited) >= 10
    assert not [(file, section) for file, section in cited if section not in sections]
    assert cited_sections("(theory 2.4 and 5), theory 99") == ["2.4", "5", "99"]


# --- what must not be in the repository ----------------------------------------------


def our_files() -> Iterator[Path]:
    """Files that git tracks or would track; outside of git, those of the known folders."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        candidates = [ROOT / os.fsdecode(name) for name in listing.stdout.split(b"\0") if name]
    else:
        below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
        candidates = [*ROOT.glob("*"), *below]
    for path in candidates:
        if path.is_file() and "__pycache__" not in path.parts:
            yield path


def machine_paths(content: str, roots: list[str]) -> list[str]:
    """Absolute paths of some machine: below one of `roots`, or in anybody's home."""
    found = re.findall(r"(?<![\w.~-])/(?:home|Users)/\w+", content)
    for root in roots:
        found += re.findall(rf"(?<![\w.~-]){re.escape(root)}/[\w.]+", content)
    return found


def this_machine() -> list[str]:
    """The directories that would betray this machine; '/' itself says nothing."""
    roots = {str(ROOT), str(Path.home()), sys.prefix, sys.base_prefix}
    return sorted(roots - {"/", "/usr", "/usr/local"})


def test_no_text_file_names_a_path_of_a_machine() -> None:
    roots = this_machine()
    found = []
    for path in our_files():
        try:
            content = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{path.relative_to(ROOT)}: {hit}" for hit in machine_paths(content, roots)]
    assert not found


def test_a_machine_path_would_be_found() -> None:
    user = "maria"
    assert machine_paths(f"see {ROOT}/notes.txt", this_machine())
    assert machine_paths(f"open('/home/{user}/db')", [])
    assert not machine_paths("docs/home/page and ~/home/page", this_machine())


def test_the_package_has_no_unfinished_places() -> None:
    words = re.compile(r"\b(?:TODO|FIXME|XXX|HACK|NotImplementedError)\b")
    assert words.search("raise NotImplementedError")
    found = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in sorted((ROOT / "probe_sql").rglob("*.py"))
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
        if words.search(line)
    ]
    assert not found


# --- version and public names --------------------------------------------------------


def test_the_version_has_one_source() -> None:
    settings = tomllib.loads(text("pyproject.toml"))
    assert settings["project"]["dynamic"] == ["version"]
    source = text(settings["tool"]["hatch"]["version"]["path"])
    assert re.findall(r'^__version__ = "(.*)"$', source, flags=re.MULTILINE) == [
        probe_sql.__version__
    ]
    assert re.fullmatch(r"\d+\.\d+\.\d+", probe_sql.__version__)


def test_pep_249_names() -> None:
    assert (probe_sql.apilevel, probe_sql.threadsafety, probe_sql.paramstyle) == ("2.0", 1, "qmark")
    assert issubclass(probe_sql.Warning, Exception)
    assert issubclass(probe_sql.InterfaceError, probe_sql.Error)
    assert issubclass(probe_sql.DatabaseError, probe_sql.Error)
    for name in ("Data", "Operational", "Integrity", "Internal", "Programming", "NotSupported"):
        assert issubclass(getattr(probe_sql, f"{name}Error"), probe_sql.DatabaseError)


@pytest.mark.parametrize("name", probe_sql.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert name in dir(probe_sql)
    assert getattr(probe_sql, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = probe_sql.no_such_name


def test_importing_the_package_loads_none_of_the_engine() -> None:
    heavy = ("duckdb", "numpy", "prompt_toolkit", "pyeda", "rich", "sqlglot", "sqlite3")
    script = f"import sys, probe_sql; print([m for m in {heavy!r} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_a_first_query_loads_nothing_that_it_does_not_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what explains, serves, asks elsewhere or stands around blocks, nor what minimises."""
    unneeded = (
        "probe_sql.blocks", "probe_sql.catalogue", "probe_sql.cli", "probe_sql.notebook",
        "probe_sql.outside", "probe_sql.owner", "probe_sql.plan.explain",
        "probe_sql.remote.connection", "probe_sql.scan.postgres", "probe_sql.scan.spark",
        "probe_sql.serve", "probe_sql.vault.postgres", "probe_sql.vault.spark", "prompt_toolkit",
        "pyeda", "rich", "psycopg", "pyspark",
    )  # fmt: skip
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    source, rules = clinic.build(tmp_path), clinic.POLICY
    steps = [
        "import probe_sql, sys",
        f"db = probe_sql.connect({str(source)!r}, {str(rules)!r}, analyst='maria')",
        "answer = db.sql('SELECT disease FROM patients GROUP BY disease HAVING count(*) > 500')",
        f"print(len(answer.rows), [m for m in {unneeded!r} if m in sys.modules])",
        "db.explain('SELECT disease FROM patients GROUP BY disease')",
        "print('probe_sql.plan.explain' in sys.modules)",  # the check itself can see something
    ]
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(steps)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    first, then = run.stdout.splitlines()
    assert first.endswith(" []"), first
    assert then == "True"


def test_pictures_are_what_their_script_draws() -> None:
    for name, drawn in PICTURES.items():
        assert text(f"docs/pictures/{name}.svg") == drawn(), "python -m benchmarks pictures"
