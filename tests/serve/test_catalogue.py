"""The catalogue: what clients look at, from public facts alone, and never a number of rows."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from probe_sql.serve.postgres.statements import statement
from tests.serve.conftest import COMMON, Running, Serve

psycopg = pytest.importorskip("psycopg", reason="psycopg is the client of these tests")
needs_psql = pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")


def psql(served: Running, *commands: str) -> subprocess.CompletedProcess[str]:
    words = [word for command in commands for word in ("-c", command)]
    return subprocess.run(
        ["psql", served.address(), "-X", "-A", "-t", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize(("value", "kind"), [
    ("1.5", "numeric"), ("now()", "timestamptz"), ("current_date", "date"),
    ("ARRAY['a', 'b']", "_text"), ("ARRAY[1.5, 2.5]", "text"), ("interval '1 day'", "text"),
    ("NULL", "text"), ("9999999999999999999999", "numeric"), ("'NaN'::float8", "float8"),
    ("ARRAY[now()]", "text"), ("true", "bool"),
])  # fmt: skip
def test_every_type_of_value_comes_through_the_process(
    served: Running, value: str, kind: str
) -> None:
    with psycopg.connect(served.address(), autocommit=True) as db:
        for binary in (False, True):
            cursor = db.cursor(binary=binary)
            cursor.execute(f"SELECT {value}")
            assert len(cursor.fetchall()) == 1
            assert cursor.description[0].type_code in (
                psycopg.adapters.types[kind.lstrip("_")].oid,
                psycopg.adapters.types[kind.lstrip("_")].array_oid,
            )


@needs_psql
def test_psql_lists_and_describes_tables(served: Running) -> None:
    listed = psql(served, r"\d", r"\dt", r"\l", r"\dn")
    assert listed.stderr == ""
    assert listed.stdout.splitlines() == [
        *["public|diseases|table|owner", "public|patients|table|owner"] * 2,
        "clinic|owner|UTF8|C|C||libc|",
        "public|owner",
    ]
    described = psql(served, r"\d patients", r"\d+ diseases", r"\dt+")
    assert described.stderr == ""
    assert "admitted|date|||" in described.stdout
    assert "cost|numeric|||" in described.stdout
    assert "public, exact" in described.stdout
    assert "private: protects one row" in described.stdout


@needs_psql
def test_psql_gets_an_answer_or_a_refusal_for_every_other_list(served: Running) -> None:
    lists = (
        "da db dc dC dd dD dE des det deu dew df dF dg di dL dm dO do dp drds dRp ds dT du dv dx dy"
    )
    ended = psql(served, *("\\" + name for name in lists.split()), r"\d patients")
    assert "admitted|date" in ended.stdout  # the connection is whole after all of them
    for line in ended.stderr.splitlines():
        assert line.startswith(("ERROR:  ", "HINT:  ", "LINE", " ", "DETAIL", "Did not find"))
        assert "unforeseen" not in line


def one(served: Running, query: str) -> Any:
    with psycopg.connect(served.address(), autocommit=True) as db:
        return db.execute(query).fetchall()


@pytest.mark.parametrize(
    "query",
    [
        "SELECT reltuples, relpages FROM pg_catalog.pg_class",
        "SELECT n_live_tup FROM pg_stat_user_tables",
        "SELECT null_frac, n_distinct FROM pg_stats",
        "SELECT pg_relation_size('patients'), pg_total_relation_size('patients')",
        "SELECT pg_database_size('clinic')",
    ],
)
def test_no_number_of_rows_and_no_size_is_told(served: Running, query: str) -> None:
    assert {value for row in one(served, query) for value in row} <= {None, -1, 0}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT read_text('x')",
        "SELECT * FROM pg_catalog.pg_class, read_csv('x')",
        "SELECT * FROM pg_catalog.pg_class, 'x.csv'",
        "SELECT * FROM pg_catalog.pg_class, duckdb_settings()",
        "SELECT getenv('HOME')",
        "SELECT * FROM pg_catalog.nothing",
        "WITH x AS (SELECT 1) INSERT INTO pg_catalog.pg_class SELECT * FROM x",
        "SELECT query('SELECT 1')",
        """SELECT "getenv"('HOME')""",
        """SELECT * FROM pg_class, "duckdb_settings"()""",
        "SELECT main.current_query()",
        "SELECT 'x'.read_text()",
        "SELECT * FROM pg_class, FILLED",
        "SELECT repeat('x', 1000000000)",
    ],
)
def test_what_is_not_there_is_refused_by_name(served: Running, query: str) -> None:
    with (
        psycopg.connect(served.address(), autocommit=True) as db,
        pytest.raises(psycopg.errors.FeatureNotSupported),
    ):
        db.execute(query)


def test_a_question_that_would_take_all_memory_ends(served: Running) -> None:
    query = "SELECT count(*) FROM generate_series(1, 100000000) a JOIN pg_class ON true ORDER BY 1"
    heavy = (
        "SELECT array_agg(md5(a::text) || a::text ORDER BY a) FROM "
        "generate_series(1, 10000000) t(a), pg_catalog.pg_class"
    )
    with psycopg.connect(served.address(), autocommit=True) as db:
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            db.execute(heavy)
        db.execute(query)
        assert db.execute("SELECT 1").fetchone() == (1,)


def test_the_catalogue_is_free_and_own_tables_are_ones_own(served: Running) -> None:
    with psycopg.connect(served.address(), autocommit=True) as db:
        db.execute(COMMON)
        budget = db.execute("SELECT * FROM probe.budget").fetchall()
        assert [row[0] for row in budget] == ["database", "analyst"]
        assert db.execute("SELECT * FROM probe.budget").fetchall() == budget
        asked = db.execute("SELECT sql, outcome, charged FROM probe.ledger").fetchall()
        assert asked[-1][:2] == (COMMON, "answered")
        assert ("patients", "ward", "text", "private", "GROUP BY, 4 keys") in db.execute(
            "SELECT * FROM probe.columns"
        ).fetchall()
    with psycopg.connect(served.address("noor"), autocommit=True) as db:
        assert db.execute("SELECT * FROM probe.ledger").fetchall() == []
        assert db.execute("SELECT current_user, session_user").fetchone() == ("noor", "noor")


def test_what_remains_with_periods_is_the_most_that_a_question_could_cost(
    clinic: Path, serve: Serve
) -> None:
    """The rest of the period that has most, which is asked for whole at the end and granted."""
    policy = clinic / "clinic.toml"
    added = '[budget.periods]\ncolumn = "admitted"\nevery = "week"\nepsilon = 1.0\n'
    policy.write_text(policy.read_text().replace("[budget.analysts]", f"{added}[budget.analysts]"))
    count = (
        "SELECT ward, count(*) FROM patients WHERE admitted >= '2020-03-{}' AND admitted <"
        " '2020-03-{}' GROUP BY ward WITH ACCURACY (epsilon = {}, fresh = true)"
    )
    with psycopg.connect(serve().address(), autocommit=True) as db:

        def remaining() -> float:
            return float(db.execute("SHOW probe.remaining").fetchone()[0])

        assert remaining() == 1.0
        db.execute(count.format("02", "09", 0.3))
        assert remaining() == 1.0  # of the weeks that were not asked about
        rows = db.execute("SELECT * FROM probe.budget").fetchall()
        assert {row[0]: float(row[3]) for row in rows[2:]} == {
            "2020-W09": 1.0, "2020-W10": 0.7, "2020-W11": 1.0,
        }  # fmt: skip
        db.execute(count.format("09", "16", 0.4))
        db.execute(count.format("01", "02", 0.2))
        assert remaining() == 0.8
        with pytest.raises(psycopg.Error):
            db.execute(count.format("01", "02", 0.81))
        db.execute(count.format("01", "02", remaining()))
        assert remaining() == pytest.approx(0.7)
        db.execute(count.format("02", "09", remaining()))
        assert remaining() == pytest.approx(0.6)  # of the third week


def test_parameters_and_descriptions(served: Running) -> None:
    with psycopg.connect(served.address(), autocommit=True) as db:
        query = "SELECT oid, relname FROM pg_catalog.pg_class WHERE relname = %s AND relkind = %s"
        cursor = db.execute(query, ("patients", "r"))
        assert [column.name for column in cursor.description] == ["oid", "relname"]
        assert cursor.fetchone()[1] == "patients"
        assert db.execute("SELECT version(), 1").description[0].name == "version"
        columns = "SELECT column_name FROM information_schema.columns WHERE table_name = %s"
        assert len(db.execute(columns, ("patients",)).fetchall()) == 7


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT 1", True),
        ("SELECT * FROM pg_catalog.pg_class", True),
        ("SELECT * FROM pg_class", True),
        ("SELECT * FROM information_schema.tables", True),
        ("SELECT * FROM probe.budget", True),
        ("SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5", False),
        ("SELECT 'FROM pg_class' FROM patients GROUP BY ward HAVING count(*) > 5", False),
        ("EXPLAIN SELECT 1", False),
        ("SELECT probe.ward FROM patients probe GROUP BY 1 HAVING count(*) > 5", False),
    ],
)
def test_questions_to_the_catalogue_are_told_from_questions_to_the_data(
    query: str, expected: bool
) -> None:
    assert statement(query).about_catalogue == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT getvariable COLLATE \"C\" ('x')",
        "SELECT OPERATOR(pg_catalog.sleep_ms) (1)",
        "SELECT DISTINCT ON (1) getvariable('x')",
        "SELECT x.* FROM pg_catalog.pg_am, query COLLATE C ('SELECT 1') x",
        "SELECT x.* FROM pg_catalog.pg_am, duckdb_settings COLLATE C () x",
        "SELECT * FROM pg_catalog.pg_am, duckdb_logs",
        "SELECT * FROM pg_catalog.pg_am, sqlite_master",
    ],
)
def test_no_way_of_writing_calls_what_is_not_listed(served: Running, sql: str) -> None:
    """DuckDB's own reading of the text is looked at, behind the translation."""
    with (
        psycopg.connect(served.address(), autocommit=True) as db,
        pytest.raises(psycopg.Error),
    ):
        db.execute(sql.encode())
