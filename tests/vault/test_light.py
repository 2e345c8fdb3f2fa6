"""A light scan and the sure one behind it: the same integers, whatever the rows are."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import duckdb
import pytest
import sqlglot
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from probe_sql.errors import ScanError
from probe_sql.plan.tally import Scan
from probe_sql.scan import rows
from probe_sql.scan.render import render_scan
from probe_sql.session import Connection
from probe_sql.vault import duckdb_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.exact import unsealed
from probe_sql.vault.instance import Parsed
from tests.audit.bench import in_memory
from tests.audit.workbench import QuietSampler, opened
from tests.examples.sources import build

ODD = [
    math.nan, struct.unpack("d", struct.pack("Q", 0xFFF8000000000001))[0], math.inf, -math.inf,
    None, 0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308, 2.0**51, 2.0**52 + 1,
    -(2.0**53), 9e15, 0.5, 1.5, 2.5, -0.5, -1.5, 0.005, 0.015, 1.005, 2.675, -2.675, 4.9950000001,
    0.285, 1e17, -1e17, 22517998136852.47, 22517998136852.49,
]  # fmt: skip
BOUNDS = [(0, 5), (-3, 7), (2, 9), (-9, -2), (-5, 0), (0, 335_544), (1_000, 1_100)]
POLICY = """
[budget]
epsilon = 100.0
[tables.t]
rows_per_group = 9
[tables.t.columns]
g = {{ keys = {{ integers = [0, 40] }} }}
s = {{}}
f = {{ bounds = [-4, 4], scale = 2 }}
d = {{ bounds = [0, 700], granularity = 7 }}
{columns}
"""
COLUMNS = [f"x{i}" for i in range(len(BOUNDS))]


def policy() -> str:
    bounds = zip(COLUMNS, BOUNDS, strict=True)
    said = (f"{name} = {{ bounds = [{low}, {high}], scale = 2 }}" for name, (low, high) in bounds)
    return POLICY.format(columns="\n".join(said))


@contextmanager
def made(values: list[float | None], path: str = "t.duckdb") -> Iterator[Connection]:
    """A table of groups of one value each, and group 40 of all of them."""
    types = ", ".join(f"{name} DOUBLE" for name in COLUMNS)
    doubles = ", ".join(f"v AS {name}" for name in COLUMNS)
    with in_memory() as folder:
        database = build(
            folder / "t.duckdb",
            [f"CREATE TABLE t (g INTEGER, s VARCHAR, f FLOAT, d DECIMAL(30,3), {types})"],
        )
        rules = folder / "policy.toml"
        rules.write_text(policy())
        with duckdb.connect(str(database)) as db:
            listed = [(i % 40, v) for i, v in enumerate(values)] + [(40, v) for v in values]
            db.execute("CREATE TABLE w (g INTEGER, v DOUBLE)")
            db.executemany("INSERT INTO w VALUES (?, ?)", listed)
            db.execute(
                "INSERT INTO t BY NAME SELECT g, 'x' AS s, try_cast(v AS FLOAT) AS f,"
                f" try_cast(v AS DECIMAL(30,3)) AS d, {doubles} FROM w"
            )
            db.execute("DROP TABLE w")
            db.execute("CHECKPOINT")
            if path.endswith("parquet"):
                db.execute(f"COPY t TO '{folder / path}'")
        source = database if path == "t.duckdb" else folder / path
        with opened(source, rules, QuietSampler()) as connection:
            yield connection


def scans(database: Connection) -> list[Scan]:
    """Sums of every column, with filters and of what is computed."""
    arguments = [*COLUMNS, "f", "d", "x1 * 0.5", "x1 + x0", "abs(x4)", "x5 / 3", "-x1"]
    forms = ("sum({}) > 1", "avg({}) > 1", "sum({}) FILTER (WHERE g < 20) > 1")
    havings = [" AND ".join(form.format(one) for one in arguments) for form in forms]
    return [database.plan(f"SELECT g FROM t GROUP BY g HAVING {one}").scan for one in havings]


def local(database: Connection) -> DuckDBBackend:
    backend = database._database.backend
    assert isinstance(backend, DuckDBBackend)
    return backend


def both(database: Connection, scan: Scan) -> tuple[object, object]:
    """What the light statement counts, and the sure one."""
    with local(database)._call() as instance:
        domain = instance.domain(scan).table
        light, sure = (
            instance.execute(render_scan(scan, domain=domain, light=light))
            for light in (True, False)
        )
    return light, sure


def check(database: Connection) -> None:
    for scan in scans(database):
        light, sure = both(database, scan)
        assert light == sure


@pytest.fixture(scope="module")
def database() -> Iterator[Connection]:
    with made([1.0, 2.0, 3.5, None]) as connection:
        yield connection


def test_sums_of_columns_are_sums_of_doubles() -> None:
    """A control: the comparisons below compare two different statements."""
    with made([1.0]) as database:
        for scan in scans(database):
            light, sure = (render_scan(scan, light=light) for light in (True, False))
            assert light.count("ERROR(") >= len(COLUMNS) + 5
            assert "ERROR(" not in sure
            assert light.count("TRY(ROUND") == 5  # what is computed keeps its net
            assert light.count("TRY(ROUND") < sure.count("TRY(ROUND") - len(COLUMNS)


@pytest.mark.parametrize(("condition", "kept"), [
    ("g = 3", False), ("x0 > 1.5 AND s IN ('x', 'y')", False), ("NOT (g BETWEEN 2 AND 9)", False),
    ("s IS NULL OR d <= 2", False), ("x0 + 1 > 2", True), ("CAST(x0 AS BIGINT) > 1", True),
    ("g = 3 AND length(s) > 0", True), ("x0 > x1 * 2", True), ("CAST(f AS DOUBLE) > 1", True),
])  # fmt: skip
def test_only_what_cannot_fail_is_without_a_net(
    database: Connection, condition: str, kept: bool
) -> None:
    for text in (
        f"WHERE {condition} GROUP BY g HAVING count(*) > 0",
        f"GROUP BY g HAVING count_if({condition}) > 0",
    ):
        scan = database.plan(f"SELECT g FROM t {text}").scan
        assert ("TRY(" in render_scan(scan)) == kept
        assert "TRY(" in render_scan(scan, light=False)
        light, sure = both(database, scan)
        assert light == sure


def test_odd_values_add_the_same_integers() -> None:
    with made(ODD) as database:
        check(database)


def test_odd_values_of_a_parquet_file_add_the_same_integers() -> None:
    """Its statistics need not know of NaN."""
    with made(ODD, "t.parquet") as database:
        check(database)


@given(
    st.lists(
        st.floats() | st.none() | st.integers(-2000, 2000).map(lambda n: n / 200),
        min_size=1,
        max_size=60,
    )
)
@settings(max_examples=2, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_values_add_the_same_integers(values: list[float | None]) -> None:
    with made(values) as database:
        check(database)


def test_what_a_row_adds_is_between_its_bounds() -> None:
    with made(ODD) as database:
        for name, (low, high) in zip(COLUMNS, BOUNDS, strict=True):
            scan = database.plan(f"SELECT g FROM t GROUP BY g HAVING sum({name}) > 1").scan
            [found] = unsealed(database._database.backend.measure(scan))
            alone = [found[i] for i, value in enumerate(ODD) if value is not None]
            assert all(100 * low <= value <= 100 * high for value in alone), name
            assert {100 * low, 100 * high} <= set(alone)


def test_more_rows_than_doubles_can_add_are_added_as_integers(
    database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = database.plan("SELECT g FROM t GROUP BY g HAVING sum(x0) > 1").scan
    backend = local(database)
    [truth] = unsealed(backend.measure(scan))
    monkeypatch.setattr(rows, "_EXACT", 2 * 500 + 1)  # two rows of at most 500 steps
    sql = "SELECT g FROM t GROUP BY g HAVING sum(x0) FILTER (WHERE g < 99) > 1"
    again = database.plan(sql).scan  # the text of the other one is kept
    text = render_scan(again)
    assert "COUNT(*) <= 2" in text
    with backend._call() as instance, pytest.raises(ScanError):
        instance.execute(text)
    [found] = unsealed(backend.measure(again))
    assert found.tolist() == truth.tolist()
    assert found.tolist()[40] == 650


def test_doubles_are_added_without_an_error_up_to_the_limit() -> None:
    """The most rows times the widest range, at each bound."""
    for low, high in ((0, rows._WIDEST), (-rows._WIDEST, 0), (rows._FARTHEST - 9, rows._FARTHEST)):
        width = high - low
        most = min(rows._MOST_ROWS, (rows._EXACT - 1) // width)
        assert most * width < 2**53
        assert most * abs(low + high) < 2**62
        assert most > 2**27


def test_what_fails_nevertheless_is_counted_by_the_sure_statement(
    database: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = database.plan("SELECT g FROM t GROUP BY g HAVING sum(x0) > 1").scan
    backend = database._database.backend
    [truth] = unsealed(backend.measure(scan))
    real = duckdb_backend._columns

    def failing(
        connection: duckdb.DuckDBPyConnection, statement: Parsed, names: list[str]
    ) -> object:
        if "ERROR(" in statement.sql:
            connection.execute("SELECT CAST(s AS INTEGER) FROM t")
        return real(connection, statement, names)

    monkeypatch.setattr(duckdb_backend, "_columns", failing)
    [found] = unsealed(backend.measure(scan))
    assert found.tolist() == truth.tolist()


def test_a_comparison_that_fails_nevertheless_fails_no_query(database: Connection) -> None:
    """A text beside a number, slipped past the plan: the database converts it without a net."""
    sql = "SELECT g FROM t WHERE g = 1 GROUP BY g HAVING count_if(g = 1) > 0 AND count(*) > 0"
    scan = database.plan(sql).scan
    node = sqlglot.parse_one("t.s = 5", dialect="duckdb")
    [filtered] = [tally for tally in scan.tallies if tally.filter is not None]
    assert filtered.filter is not None
    condition = replace(filtered.filter, ast=node)
    tallies = tuple(
        replace(tally, filter=condition) if tally is filtered else tally for tally in scan.tallies
    )
    where = (replace(scan.relation.where[0], ast=node),)
    for changed, rows_left in (
        (replace(scan, tallies=tallies), 1),
        (replace(scan, relation=replace(scan.relation, where=where)), 0),
    ):
        with local(database)._call() as instance, pytest.raises(ScanError):
            instance.execute(render_scan(changed))
        found = unsealed(local(database).measure(changed))
        assert sum(int(column.sum()) for column in found) == rows_left
