"""What an error of the Python API says to write is written, and works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pytest

import probe_sql
from probe_sql.errors import ProbeError
from probe_sql.notebook import Magics
from probe_sql.remote import Address
from probe_sql.session import Connection, connect
from tests.examples.clinic import POLICY, build
from tests.sql.fixing import gathered, places

ROOMS = (
    "answer", "arguments.py", "cursor.py", "database.py", "notebook.py", "policy/read.py",
    "remote/address.py", "session.py",
)  # fmt: skip
SQL = "SELECT disease FROM patients WHERE disease_type = ? GROUP BY disease HAVING count(*) > 200"
WHOLE = SQL.replace("?", "'viral'")
VALUES = "SELECT disease, count(*) AS n FROM patients GROUP BY disease HAVING count(*) > 200"
CLOSE = VALUES.replace("200", "890")
BLOCKS = "WITH a AS (SELECT ward, count(*) AS n FROM patients GROUP BY ward) SELECT sum(n) FROM a"
HERE = "probe://maria@host/clinic"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with the clinic, its policy and its patients as Parquet; one connection to it."""

    folder: Path
    db: Connection

    def open(self, source: Any = None, policy: Any = "clinic.toml", **more: Any) -> Any:
        """Connect to what lies in the folder, ask for the price of a question, and close."""
        source = str(self.folder / "clinic.duckdb") if source is None else source
        policy = str(self.folder / policy) if isinstance(policy, str) else policy
        with connect(source, policy, **more) as opened:
            return opened.explain(WHOLE)

    def frame(self, **more: Any) -> Any:
        """The same of tables in memory."""
        with duckdb.connect() as made:
            files = {name: f"{self.folder}/{name}.parquet" for name in ("patients", "diseases")}
            tables = {
                name: made.read_parquet(file).to_arrow_table() for name, file in files.items()
            }
        return self.open(tables, analyst="maria", **more)

    def pattern(self, **more: Any) -> Any:
        """The same of a pattern, under a policy that has the one table of those files."""
        return self.open(str(self.folder / "patients*.parquet"), "one.toml", **more)

    def magic(self, *lines: str, cell: str | None = None) -> Any:
        """Lines of `%probe`, then a cell where one is given."""
        magics, found = Magics(SimpleNamespace(user_ns={"db": self.db, "least": 200})), None
        for line in lines:
            text = line.replace("clinic.", f"{self.folder}/clinic.")
            found = magics.line(text) if cell is None or line != lines[-1] else None
        return found if cell is None else magics.cell(lines[-1], cell)


Do = Callable[[Place], Any]


@dataclass(frozen=True, slots=True)
class Case:
    """What is called, what its fix says, and what is called then."""

    wrong: Do
    fix: str
    then: tuple[Do, ...]


def case(wrong: Do, fix: str, *then: Do) -> Case:
    """A case, with each way to do what the fix says."""
    return Case(wrong, fix, then)


LEDGER = "connect(..., ledger='name.ledger')"
NAMED: Do = lambda at: at.open(analyst="maria", ledger=at.folder / "clinic.duckdb.ledger")  # noqa: E731
MARIA: Do = lambda at: at.open(analyst="maria")  # noqa: E731
KEYS = "db.key_values('patients', 'disease', 100)"
KEYED: Do = lambda at: at.db.key_values("patients", "disease", 100)  # noqa: E731
CONNECT = "%probe connect clinic.duckdb clinic.toml analyst=maria"


def asked(at: Place) -> Any:
    cursor = at.db.cursor()
    cursor.execute(f"EXPLAIN {WHOLE}")
    return cursor


def closed(at: Place) -> Any:
    cursor = asked(at)
    cursor.close()
    return cursor


def ended(at: Place, analyst: str = "maria") -> Any:
    with connect(at.folder / "clinic.duckdb", POLICY, analyst=analyst) as opened:
        pass
    return opened


def changed(at: Place) -> Any:
    path = at.folder / "own.toml"
    path.write_bytes(POLICY.read_bytes())
    with connect(at.folder / "clinic.duckdb", path, analyst="maria") as opened:
        path.write_bytes(POLICY.read_bytes() + b"\n# looked at\n")
        return opened.sql(WHOLE)


def plotted(at: Place, sql: str) -> Any:
    pytest.importorskip("matplotlib").use("Agg")
    answer: Any = at.db.sql(sql, epsilon=0.3)
    return answer.plot()


def denied(at: Place) -> Any:
    return at.db.sql(CLOSE, epsilon=0.001)


def dense(at: Place, **given: Any) -> Any:
    return at.db.sql(VALUES, **{"margin": 6, "epsilon": 0.2, **given})


CASES = [
    case(lambda at: at.open(5), "pass a path, a URL, an Arrow table, a frame", MARIA),
    case(lambda at: at.open("a\0b"), "connect('clinic.duckdb', ...)", MARIA),
    case(lambda at: at.open(ledger=5), LEDGER, NAMED),
    case(lambda at: at.open(ledger=""), LEDGER, NAMED),
    case(lambda at: at.open(analyst=5), "connect(..., analyst='maria')", MARIA),
    case(lambda at: at.open(analyst="a\ud800"), "connect(..., analyst='maria')", MARIA),
    case(lambda at: at.db.explain(SQL, "viral"), "db.sql(query, [value, ...])",
         lambda at: at.db.explain(SQL, ["viral"])),
    case(lambda at: at.db.explain(SQL, [np.array(["viral"])]),
         "pass one number, text, date, timestamp, boolean or None for each ?",
         lambda at: at.db.explain(SQL, ["viral"])),
    case(lambda at: at.db.sql(f"EXPLAIN {WHOLE}", progress=5),  # type: ignore[arg-type]
         "progress=lambda seconds: print(seconds)",
         lambda at: at.db.sql(WHOLE, epsilon=0.3, progress=lambda seconds: print(seconds))),
    case(lambda at: at.db.key_values("patients", "disease", "x"), KEYS, KEYED),  # type: ignore[arg-type]
    case(lambda at: at.db.key_values("patients", "disease", -1), KEYS, KEYED),
    case(lambda at: at.db.key_values(5, "disease"), KEYS, KEYED),  # type: ignore[arg-type]
    case(lambda at: asked(at).fetchmany("x"), "fetchmany(10)", lambda at: asked(at).fetchmany(10)),
    case(lambda at: at.db.rollback(), "use commit(), which does nothing, or leave it out",
         lambda at: at.db.commit()),
    case(lambda at: at.db.cursor().executemany(SQL, [["viral"]]),
         "call execute for each set of parameters, or GROUP BY the column that varies",
         lambda at: at.db.cursor().execute(f"EXPLAIN {SQL}", ["viral"])),
    case(lambda _: probe_sql.DateFromTicks("x"), "DateFromTicks(0)",  # type: ignore[arg-type]
         lambda _: probe_sql.DateFromTicks(0)),
    case(lambda at: at.db.cursor().fetchall(), "call execute first",
         lambda at: asked(at).fetchall()),
    case(lambda at: closed(at).fetchall(), "connection.cursor() makes another",
         lambda at: at.db.cursor()),
    case(lambda at: at.frame(), f"{LEDGER}, or ledger = '...' in the policy",
         lambda at: at.frame(ledger=at.folder / "frame.ledger")),
    case(lambda at: at.pattern(analyst="maria"), "name one with ledger='name.ledger' (--ledger)",
         lambda at: at.pattern(analyst="maria", ledger=at.folder / "pattern.ledger")),
    case(lambda _: connect(HERE, POLICY), f'connect("{HERE}")',
         lambda _: Address.read(HERE)),
    case(lambda at: connect(at.folder, POLICY, password="x"),  # type: ignore[call-overload]
         f'connect("{HERE}")', lambda _: Address.read(HERE)),
    case(lambda at: connect(at.folder / "clinic.duckdb", None),  # type: ignore[call-overload]
         "connect('clinic.duckdb', 'clinic.toml')", MARIA),
    case(lambda at: dense(at), "widen margin, lower confidence, or raise epsilon",
         lambda at: dense(at, margin=200), lambda at: dense(at, margin=30, confidence=0.5),
         lambda at: dense(at, margin=60, epsilon=1)),
    case(lambda at: at.db.plan(BLOCKS), "explain(...) has the plan of each block",
         lambda at: at.db.explain(BLOCKS)),
    case(lambda at: ended(at).sql(WHOLE), "connect again", MARIA),
    case(lambda at: at.open(policy=5), "load_policy('clinic.toml'), or pass a Policy", MARIA,
         lambda at: at.open(policy=probe_sql.load_policy(POLICY), analyst="maria")),
    case(changed, "connect again", lambda at: at.open(policy="own.toml", analyst="maria")),
    case(lambda at: plotted(at, WHOLE), "select count(*), sum(x) or avg(x)",
         lambda at: plotted(at, VALUES)),
    case(lambda at: len(denied(at)), "look at answer.status before rows",
         lambda at: denied(at).status),
    case(lambda at: at.magic("connect"), CONNECT, lambda at: at.magic(CONNECT[7:])),
    case(lambda at: at.magic("connect 'a"), "%probe connect SOURCE [POLICY]",
         lambda at: at.magic(CONNECT[7:])),
    case(lambda at: at.magic("use nothing"), "%probe use db", lambda at: at.magic("use db")),
    case(lambda at: at.magic("budget"),
         "%probe connect clinic.duckdb clinic.toml, or %probe use db",
         lambda at: at.magic("connect clinic.duckdb clinic.toml analyst=maria", "budget"),
         lambda at: at.magic("use db", "budget")),
    case(lambda at: at.magic("use db", "explain into 5", cell=WHOLE), "write fdr=0.1 epsilon=0.5",
         lambda at: at.magic("use db", "explain fdr=0.1 epsilon=0.5", cell=WHOLE)),
    case(lambda at: at.magic("use db", "into 5", cell=WHOLE), "%%probe into answer",
         lambda at: at.magic("use db", "into answer", cell=f"EXPLAIN {WHOLE}")),
    case(lambda at: at.magic("use db", "explain", cell=WHOLE.replace("200", ":most")),
         "most = ... in a cell before",
         lambda at: at.magic("use db", "explain", cell=WHOLE.replace("200", ":least"))),
    case(lambda _: Address.read("probe://maria@host:x/clinic"), f'connect("{HERE}"), with',
         lambda _: Address.read(HERE)),
    case(lambda _: Address.read("probe://maria@host"), f'connect("{HERE}"), with',
         lambda _: Address.read(HERE)),
    case(lambda _: Address.read("probe://maria:secret@host/clinic"), "leave it out: it is asked",
         lambda _: Address.read(HERE)),
    case(lambda _: Address.read(f"{HERE}?user=noor"), "the settings are sslmode,",
         lambda _: Address.read(f"{HERE}?sslmode=disable&connect_timeout=3")),
]  # fmt: skip
NEEDED = "the package is installed here: tests/cli/test_command_fixes.py has its name"
WORDS = {
    "answer/plot.py: 'pip install \"probe-sql[plot]\", or use answer.df()'": NEEDED,
    "answer/values.py: f'pip install {library}, or use answer.rows'": NEEDED,
}


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("fixes")
    path = build(folder)
    text = POLICY.read_text(encoding="utf-8")
    (folder / "clinic.toml").write_text(text, encoding="utf-8")
    one = text.partition("[public.")[0].replace(
        '{ table = "diseases", column = "name" }', '["flu"]'
    )
    (folder / "one.toml").write_text(one, encoding="utf-8")
    with duckdb.connect(str(path), read_only=True) as tables:
        for name in ("patients", "diseases"):
            tables.execute(f"COPY {name} TO '{folder}/{name}.parquet' (FORMAT parquet)")
    with connect(path, POLICY, analyst="maria") as db:
        yield Place(folder, db)


@pytest.mark.parametrize("index", range(len(CASES)), ids=lambda i: f"{i} {CASES[i].fix[:50]}")
def test_a_fix_that_is_written_works(at: Place, index: int) -> None:
    one = CASES[index]
    with pytest.raises(ProbeError) as caught:
        one.wrong(at)
    assert one.fix in (caught.value.fix or "")
    for way in one.then:
        way(at)


def test_every_place_that_builds_a_fix_is_reached(at: Place) -> None:
    with gathered(ROOMS) as reached:
        for one in CASES:
            with pytest.raises(ProbeError):
                one.wrong(at)
    built = {place.key for place in places(ROOMS)}
    assert not built - reached - set(WORDS), sorted(built - reached - set(WORDS))
    assert not set(WORDS) - built, "these places are gone"
    assert not set(WORDS) & reached, "these are done by a case"
