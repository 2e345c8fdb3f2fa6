"""Places that a statement elsewhere works out are those of the domain, whatever a row holds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest

from probe_sql.errors import InternalError
from probe_sql.plan.plan import make_plan
from probe_sql.plan.tally import Scan
from probe_sql.policy import parse_policy
from probe_sql.policy.keys import ListKeys
from probe_sql.scan import places
from probe_sql.scan.engine import DOMAIN, public_relations
from probe_sql.scan.places import LIST, held, list_joins, place, worked_out
from probe_sql.scan.postgres.engine import POSTGRESQL
from probe_sql.scan.render import render_domain, render_key
from probe_sql.scan.spark.engine import SPARK
from probe_sql.sql import build
from probe_sql.vault.backends import open_backend
from probe_sql.vault.duckdb_backend import DuckDBBackend
from probe_sql.vault.key_values import worked_out_keys
from probe_sql.vault.remote import RemoteBackend
from tests.engines import events
from tests.engines.contract import measured, tables
from tests.engines.server import Server

POLICY = """
[budget]
epsilon = 1.0
[tables.t]
unit = "row"
rows_per_group = 9
[tables.t.columns]
n = { keys = { integers = [-3, 4] }, type = "INTEGER" }
odd = { keys = { integers = [-7, 8], step = 3 }, type = "BIGINT" }
far = { keys = { integers = [9223372036854775800, 9223372036854775807] }, type = "BIGINT" }
day = { keys = { dates = ["2020-02-27", "2020-03-02"] }, type = "DATE" }
pair = { keys = { dates = ["2020-02-27", "2020-03-04"], step = "2 days" }, type = "DATE" }
week = { keys = { dates = ["2020-02-27", "2020-04-01"], step = "1 week" }, type = "DATE" }
month = { keys = { dates = ["2020-01-01", "2020-04-01"], step = "1 month" }, type = "DATE" }
at = { keys = { dates = ["2020-02-27", "2020-03-02"] }, type = "TIMESTAMP" }
word = { keys = ["a", "b", ""], type = "VARCHAR" }
"""
VALUES = {
    "INTEGER": ["-4", "-3", "0", "4", "5", "-2147483648", "2147483647", "NULL"],
    "BIGINT": ["-8", "-7", "-6", "-4", "-1", "2", "8", "-9223372036854775808",
               "9223372036854775807", "NULL"],
    "DATE": [*(f"DATE '{d}'" for d in (
        "2020-02-26", "2020-02-27", "2020-02-28", "2020-02-29", "2020-03-02", "2020-03-04",
        "2020-03-05", "2020-03-26", "2020-04-01", "5877642-06-25 (BC)", "5881580-07-10",
        "infinity", "-infinity")), "NULL"],
    "VARCHAR": ["'a'", "'b'", "''", "'A'", "NULL"],
}  # fmt: skip


def planned(*keys: str) -> Scan:
    listed = ", ".join(keys)
    return make_plan(
        f"SELECT {listed} FROM t GROUP BY {listed} HAVING count(*) > 1", parse_policy(POLICY)
    ).scan


@pytest.mark.parametrize(
    "keys",
    ["n", "odd", "day", "pair", "week", "n day", "day odd", "word n", "week word", "word pair n"],
)
def test_a_place_is_that_of_the_domain_and_nothing_raises(keys: str) -> None:
    scan = planned(*keys.split())
    assert worked_out(scan)
    numbers = range(len(scan.keys))
    with duckdb.connect() as db:
        for number in numbers:
            listed = ", ".join(f"({v})" for v in VALUES[scan.keys[number].column_type.name])
            db.execute(
                f"CREATE TABLE v{number} AS SELECT x AS k{number} FROM (VALUES {listed}) v(x)"
            )
        db.execute(f"CREATE TABLE a AS SELECT * FROM {', '.join(f'v{n}' for n in numbers)}")
        db.execute(f"CREATE TABLE d AS {render_domain(scan)}")
        for relation in public_relations(scan):
            assert relation.key is not None
            db.execute(f"CREATE TABLE {relation.name} AS {render_key(scan, relation.key)}")
        every = [build.column(f"k{n}", "a") for n in numbers]
        found = build.select(
            [*every, build.alias(place(scan, "a"), "o")],
            build.table("a"),
            joins=list_joins(scan, "a"),
        )
        same = " AND ".join(f"a.k{n} = d.k{n}" for n in numbers)
        listed = ", ".join(f"a.k{n}" for n in numbers)
        ours = db.execute(f"SELECT * FROM ({found.sql('duckdb')}) WHERE o IS NOT NULL").fetchall()
        theirs = db.execute(f"SELECT {listed}, d.o FROM a JOIN d ON {same}").fetchall()
        assert sorted(ours) == sorted(theirs)
        assert ours
        stay = build.select(every, build.table("a"), where=held(scan, list(every)))
        assert sorted(db.execute(stay.sql("duckdb")).fetchall()) == sorted(r[:-1] for r in theirs)


@pytest.mark.parametrize("keys", ["month", "at", "far", "word", "n month", "n % 2", "word at"])
def test_what_is_no_range_of_whole_numbers_or_days_is_listed(keys: str) -> None:
    parts = [keys] if "%" in keys else keys.split()
    scan = planned(*parts)
    assert not worked_out(scan)
    assert [relation.name for relation in public_relations(scan)] == [DOMAIN]


def test_groups_that_having_leaves_out_are_not_counted_by_place() -> None:
    sql = "SELECT n FROM t GROUP BY n HAVING n > 1 AND count(*) > 1"
    scan = make_plan(sql, parse_policy(POLICY)).scan
    assert scan.kept
    assert not worked_out(scan)


def test_of_ranges_nothing_travels_and_of_lists_each_by_itself() -> None:
    assert public_relations(planned("n", "day")) == ()
    (relation,) = public_relations(planned("n", "word"))
    assert (relation.name, relation.key) == (f"{LIST}1", 1)
    for engine in (POSTGRESQL, SPARK):
        (statement,) = engine.statements(planned("n", "day"))
        assert DOMAIN not in statement


def test_a_key_that_a_list_has_twice_takes_the_first_place() -> None:
    """The second wall: the column's type makes two keys one, past every check of the policy."""
    scan = planned("n", "day")
    n, day = scan.keys
    scan = replace(scan, keys=(replace(n, keys=ListKeys((1.001, 2.0, 1.002))), day))
    with duckdb.connect() as db:
        db.execute("CREATE TABLE t AS SELECT 1 AS n, DATE '2020-02-28' AS day FROM range(5)")
        db.execute(f"CREATE TABLE {LIST}0 AS {render_key(scan, 0)}")
        text = POSTGRESQL._tallies(scan).sql("duckdb")
        assert db.execute(text).fetchall() == [(1, 5)]


@pytest.mark.parametrize(
    "keys", ["n", "odd", "day", "pair", "week", "n day", "day odd", "far", "month", "word n"]
)
def test_keys_that_are_worked_out_are_those_of_the_domain(keys: str, tmp_path: Path) -> None:
    names = keys.split()
    policy = parse_policy(POLICY)
    path = tmp_path / "t.duckdb"
    with duckdb.connect(str(path)) as db:
        columns = (f'"{name}" {column.type}' for name, column in policy.tables["t"].columns.items())
        db.execute(f"CREATE TABLE t ({', '.join(columns)})")
    backend = open_backend(str(path), policy)
    assert isinstance(backend, DuckDBBackend)
    scan = planned(*names)
    with backend._call() as instance:
        listed = ", ".join(f"k{number}" for number in range(len(names)))
        table = instance.domain(scan).table
        every = instance.execute(f"SELECT {listed} FROM {table} ORDER BY o")
    for chosen in (np.arange(len(every)), np.array([1, len(every) - 1])):
        shown = worked_out_keys(scan, chosen)
        assert (shown is None) == (keys in ("far", "month", "word n"))
        found = backend.keys(scan, chosen)
        rows = list(zip(*(found[number] for number in range(len(names))), strict=True))
        assert repr(rows) == repr([every[place] for place in chosen])
    backend.close()


def test_places_of_another_domain_are_refused_before_anything_is_counted(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second wall: else a place beyond the domain would tell of a row by an error."""
    schema = server.load(tables(20))
    policy = events.policy()
    backend = open_backend(server.url(schema=schema), policy, beside=tmp_path / "a.ledger")
    assert isinstance(backend, RemoteBackend)
    sql = "SELECT level, day FROM events GROUP BY level, day HAVING count(*) > 1"
    scan = make_plan(sql, policy.with_types(backend.schemas()), engine=backend.engine).scan
    backend.measure(scan).close()
    monkeypatch.setattr(places, "size_of", lambda _: 3)
    monkeypatch.setattr(backend._remote, "tallies", lambda *_: pytest.fail("it was counted"))
    with pytest.raises(InternalError, match="another domain"):
        backend.measure(scan)
    backend.close()


def test_a_million_groups_on_a_server(server: Server, tmp_path: Path) -> None:
    """Counted by number and day, of which nothing but the statement travels."""
    policy = parse_policy(
        POLICY.replace("[-3, 4]", "[1, 1000]").replace(
            '"2020-03-02"] }, type = "DATE"', '"2022-11-22"] }, type = "DATE"'
        )
    )
    with server.owner() as connection:
        connection.execute("CREATE SCHEMA million")
        connection.execute(
            "CREATE TABLE million.t AS SELECT CASE WHEN i < 3 THEN i * 999 + 1 ELSE 7 END AS n,"
            " DATE '2020-02-27' + i AS day FROM generate_series(-1, 1000) i"
        )
        connection.execute("GRANT USAGE ON SCHEMA million TO reader")
        connection.execute("GRANT SELECT ON million.t TO reader")
    columns = {"n", "day"}
    table = policy.tables["t"]
    kept = {name: column for name, column in table.columns.items() if name in columns}
    policy = replace(policy, tables={"t": replace(table, columns=kept)})
    backend = open_backend(server.url(schema="million"), policy, beside=tmp_path / "a.ledger")
    assert isinstance(backend, RemoteBackend)
    sql = "SELECT n, day FROM t GROUP BY n, day HAVING count(*) > 1"
    plan = make_plan(sql, policy.with_types(backend.schemas()), engine=backend.engine)
    (counts,) = measured(backend, plan)
    backend.close()
    found = {place: count for place, count in enumerate(counts) if count}
    assert len(counts) == 1_000_000
    assert found == {0: 1, 999 * 1000 + 1: 1, **{6000 + i: 1 for i in range(3, 1000)}}
