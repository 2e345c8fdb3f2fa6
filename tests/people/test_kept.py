"""Bounded tables beside a source: none outlives what it was made from."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from probe_sql.owner.check import check
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, dump_policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.exact import unsealed
from tests.examples import visits
from tests.examples.visits import Visit

ROWS: list[Visit] = [(p, "A", 50, f"n{i}") for p in range(4) for i in range(6)]
COUNT = "SELECT ward FROM visits GROUP BY ward HAVING count(*) > 5"


def counted(source: Any, policy: Policy) -> list[int]:
    backend = open_backend(source, policy, threads=1)
    try:
        plan = make_plan(COUNT, policy.with_types(backend.schemas()))
        return [int(value) for value in unsealed(backend.measure(plan.scan))[0]]
    finally:
        backend.close()


def kept(source: Path) -> set[str]:
    return {path.name for path in source.with_name(source.name + ".bounded").glob("*.duckdb")}


def test_a_person_who_was_deleted_is_gone_when_the_source_is_opened(tmp_path: Path) -> None:
    """Opening is enough: no query has to be asked."""
    source, policy = visits.as_database(tmp_path, ROWS), visits.policy(5)
    counted(source, policy)
    assert len(kept(source)) == 1
    with duckdb.connect(str(source)) as db:
        db.execute("DELETE FROM visits WHERE person = 2")
    open_backend(source, policy).close()
    assert kept(source) == set()


@pytest.mark.parametrize("other", [visits.row_policy(), visits.policy(3)])
def test_what_the_policy_wants_no_more_is_removed_on_opening(tmp_path: Path, other: Policy) -> None:
    source = visits.as_database(tmp_path, ROWS)
    counted(source, visits.policy(5))
    open_backend(source, other).close()
    assert kept(source) == set()


def test_two_policies_do_not_evict_each_other(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, ROWS)
    one = replace(visits.policy(5), source=str(tmp_path / "one.toml"))
    two = replace(visits.policy(3), source=str(tmp_path / "two.toml"))
    assert counted(source, one) == [20, 0, 0, 0]
    first = kept(source)
    assert counted(source, two) == [12, 0, 0, 0]
    assert len(kept(source)) == 2
    assert first < kept(source)
    counted(source, one)
    assert len(kept(source)) == 2
    with duckdb.connect(str(source)) as db:  # but neither survives what was deleted
        db.execute("DELETE FROM visits WHERE person = 2")
    open_backend(source, one).close()
    assert kept(source) == set()


@pytest.mark.parametrize("make", [visits.as_database, visits.as_csv])
def test_a_change_that_keeps_size_and_time_is_noticed(tmp_path: Path, make: Any) -> None:
    made = make(tmp_path, ROWS)
    path: Path = made["visits"] if isinstance(made, dict) else made
    policy = visits.policy(5)
    assert counted(made, policy) == [20, 0, 0, 0]
    before = path.stat()
    if path.suffix == ".csv":
        path.write_bytes(path.read_bytes().replace(b'"A"', b'"B"'))
    else:
        with duckdb.connect(str(path)) as db:
            db.execute("UPDATE visits SET ward = 'B'")
            db.execute("CHECKPOINT")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    if path.suffix == ".csv":
        assert path.stat().st_size == before.st_size
    assert counted(made, policy) == [0, 20, 0, 0]


def test_purge_removes_all_of_it(tmp_path: Path) -> None:
    source = visits.as_database(tmp_path, ROWS)
    rules = tmp_path / "visits.toml"
    rules.write_text(dump_policy(visits.policy(5)))
    for name in ("one.toml", "two.toml"):
        counted(source, replace(visits.policy(5), source=str(tmp_path / name)))
    assert len(kept(source)) == 2
    report = check(rules, source, purge=True)
    assert not report.problems
    assert [path.name for path in report.purged] == ["visits.duckdb.bounded"]
    assert not source.with_name("visits.duckdb.bounded").exists()
    assert check(rules, source, purge=True).purged == ()
