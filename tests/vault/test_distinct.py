"""Keys are distinct as the column sees them, and public keys as they are compared."""

from __future__ import annotations

import time
from pathlib import Path

import duckdb
import pytest

from probe_sql.errors import PolicyError, Refused
from probe_sql.owner.check import check
from probe_sql.policy import Policy, parse_policy
from probe_sql.session import connect
from probe_sql.vault.backends import open_backend
from tests.examples import awkward
from tests.examples.policies import one_table


def text(keys: str) -> str:
    return one_table("t", {"k": f"keys = [{keys}]"})


def database(folder: Path, type_: str, more: str = "SELECT 1") -> Path:
    path = folder / "t.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as db:
        db.execute(f"CREATE TABLE t (k {type_}, x DOUBLE, y REAL, n BIGINT)")
        db.execute(more)
    return path


def policy(keys: str) -> Policy:
    return parse_policy(text(keys))


SAME = {
    "DECIMAL(9,2)": ("1.001, 1.002, 7.0", "1.001 and 1.002"),
    "DECIMAL(18,0)": ("1.2, 2.2, 2.4", "2.2 and 2.4"),
    "FLOAT": ("0.1, 0.1000000001", "0.1 and 0.1000000001"),
    "TIMESTAMP_S": ("2020-01-01T00:00:00.1, 2020-01-01T00:00:00.2", "2020-01-01T00:00:00.1"),
    "TIMESTAMP_MS": ("2020-01-01T00:00:00.0001, 2020-01-01T00:00:00.0002", "00:00:00.0001"),
    "DOUBLE": ("9007199254740992, 9007199254740993", "9007199254740993"),
}
BEYOND = {
    "DECIMAL(4,2)": ("1.0, 1e10", "10000000000.0"),
    "TIMESTAMP_NS": ("2020-01-01T00:00:00, 9020-01-01T00:00:00", "9020-01-01"),
}


@pytest.mark.parametrize("type_", SAME)
def test_two_keys_that_are_one_to_the_column_are_refused_by_name(
    type_: str, tmp_path: Path
) -> None:
    keys, named = SAME[type_]
    with pytest.raises(PolicyError, match="are the same") as caught:
        open_backend(database(tmp_path, type_), policy(keys))
    assert named in str(caught.value)
    assert "tables.t.columns.k.keys" in str(caught.value)
    rules = tmp_path / "t.toml"
    rules.write_text(text(keys))
    (problem,) = check(rules, tmp_path / "t.duckdb").problems
    assert (problem.line, "are the same" in problem.what) == (6, True)


@pytest.mark.parametrize("type_", BEYOND)
def test_a_key_that_the_column_cannot_hold_is_refused(type_: str, tmp_path: Path) -> None:
    keys, named = BEYOND[type_]
    with pytest.raises(PolicyError, match="beyond what") as caught:
        open_backend(database(tmp_path, type_), policy(keys))
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("type_", "keys"),
    [
        ("DECIMAL(9,3)", "1.001, 1.002"), ("VARCHAR", '"a", "A", "a "'), ("INTEGER", "1, 2"),
        ("TIMESTAMP", "2020-01-01T00:00:00.1, 2020-01-01T00:00:00.2"), ("DATE", "2020-01-01"),
        ("BOOLEAN", "true, false"), ("DOUBLE", "0.1, 0.2"), ("HUGEINT", "1, 2"),
    ],
)  # fmt: skip
def test_keys_that_differ_are_accepted(type_: str, keys: str, tmp_path: Path) -> None:
    open_backend(database(tmp_path, type_), policy(keys)).close()


# --- public tables ----------------------------------------------------------------------------

JOINED = (
    text('"A"')
    + """
x = {}
y = {}
n = {}
[public.zones]
key = ["id"]
"""
)
QUERY = "SELECT k FROM t JOIN zones z ON {value} = z.id GROUP BY k HAVING count(*) > 1"


@pytest.mark.parametrize(
    ("type_", "one", "other", "value", "refused"),
    [
        ("BIGINT", "9007199254740992", "9007199254740993", "t.x", True),
        ("BIGINT", "16777216", "16777217", "t.y", True),
        ("BIGINT", "16777216", "16777217", "t.x", False),
        ("BIGINT", "9007199254740992", "9007199254740993", "t.n", False),
        ("DECIMAL(20,4)", "1000000000000000.0001", "1000000000000000.0002", "t.x", True),
        ("DECIMAL(9,3)", "1.001", "1.002", "t.n", False),
    ],
)
def test_public_keys_are_distinct_as_they_are_compared(
    type_: str,
    one: str,
    other: str,
    value: str,
    refused: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else a row meets two of them, and counts twice. The binder refuses what could; without
    that wall the keys themselves are looked at, before anything is scanned."""
    more = f"CREATE TABLE zones AS SELECT v::{type_} AS id FROM (VALUES ({one}), ({other})) t(v)"
    rules = parse_policy(JOINED)
    path = database(tmp_path, "VARCHAR", more)
    with duckdb.connect(str(path)) as db:
        db.execute(f"INSERT INTO t SELECT 'A', {one}, {one}, 1")
        met = db.execute(f"SELECT count(*) FROM t JOIN zones z ON {value} = z.id").fetchone()
    assert met is not None
    assert (met[0] > 1) == refused  # or this test could not fail
    backend = open_backend(path, rules)
    if refused:
        with pytest.raises(Refused, match="column of another type"):
            awkward.planned(backend, QUERY.format(value=value), rules)
    monkeypatch.setattr("probe_sql.sql.joins.joinable", lambda _, value: value)
    plan = awkward.planned(backend, QUERY.format(value=value), rules)
    if refused:
        with pytest.raises(Refused, match="two keys of zones are the same") as caught:
            backend.groups(plan.scan)
        assert one[:12] in str(caught.value)
    else:
        assert backend.groups(plan.scan) == 1
    backend.close()


# --- long lists -------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text", "whole", "date"])
def test_a_long_list_measures_what_a_short_one_does(kind: str, tmp_path: Path) -> None:
    made = {
        "text": ("VARCHAR", [f'"key {i}"' for i in range(3000)], "'key ' || (i % 2000)"),
        "whole": ("INTEGER", [str(i) for i in range(3000)], "i % 2000"),
        "date": (
            "DATE",
            [f"{1000 + i // 12}-{1 + i % 12:02}-01" for i in range(3000)],
            "make_date(1000 + (i % 2000) // 12, 1 + (i % 2000) % 12, 1)",
        ),
    }
    type_, keys, value = made[kind]
    path = database(
        tmp_path, type_, f"INSERT INTO t SELECT {value}, 1, 1, 1 FROM range(10000) r(i)"
    )
    backend = open_backend(path, policy(", ".join(keys)))
    rules = policy(", ".join(keys))
    plan = awkward.planned(backend, "SELECT k FROM t GROUP BY k HAVING count(*) > 1", rules)
    (found,) = awkward.values(backend.measure(plan.scan))
    assert found == [5] * 2000 + [0] * 1000
    backend.close()


@pytest.mark.slow
def test_half_a_million_keys_take_seconds(tmp_path: Path) -> None:
    path = database(tmp_path, "VARCHAR", "INSERT INTO t SELECT 'key 7', 1, 1, 1 FROM range(100)")
    keys = text(", ".join(f'"key {i}"' for i in range(500_000)))
    start = time.monotonic()
    with connect(path, parse_policy(keys), ledger=tmp_path / "t.ledger") as db:
        answer = db.sql("SELECT k FROM t GROUP BY k HAVING count(*) > 50", epsilon=5.0)
    assert time.monotonic() - start < 30  # 66 s and more with every key as a literal
    assert "key 7" in str(answer)
