"""Databases that differ by one person: what is measured differs within the claimed loss.

The tables are real files, scanned and bounded by the engine. A control that ignores the caps
must be caught by the same test.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy
from probe_sql.vault.backends import open_backend
from probe_sql.vault.exact import unsealed
from tests.examples import visits
from tests.examples.visits import Visit

Values = NDArray[np.int64]
Make = Callable[[Path, Sequence[Visit]], Any]
Cap = tuple[int, int | None, int | None]  # rows, groups, rows of a group

QUERY = """
    SELECT ward FROM visits {where} GROUP BY ward
    HAVING count(*) > 5 AND count(DISTINCT person) > 3 AND count(DISTINCT age) > 3
       AND sum(age) > 100 AND avg(age) > 30 AND max(age) > 100 AND median(age) < 40
       AND count(*) FILTER (WHERE age < 50) > 2 AND count(*) FILTER (WHERE age >= 50) > 2
"""
VALUES = """
    SELECT ward, avg(age) AS a, count_if(age < 50) / count(*) AS young, sum(age) AS s,
           avg(age) FILTER (WHERE age >= 50) AS old, count(DISTINCT person) AS people
    FROM visits GROUP BY ward
"""
JOINED = QUERY.replace("FROM visits", "FROM visits JOIN wards ON visits.ward = wards.name").replace(
    "count(*) > 5", "count(*) > wards.cap"
)


def measured(
    folder: Path, rows: Sequence[Visit], policy: Policy, plan: Plan, make: Make = visits.as_parquet
) -> Values:
    """The exact measures of every group; the key is the same each time."""
    backend = open_backend(make(folder, rows), policy, threads=1)
    people: Any = backend
    for store in people._source.people.folders():
        store.mkdir(mode=0o700, exist_ok=True)
        (store / "key").write_text("4\n")
    try:
        return np.array(unsealed(backend.measure(plan.scan)))
    finally:
        backend.close()


def losses_met(plan: Plan, first: Values, second: Values, spent: NDArray[np.float64]) -> float:
    """Log of the likelihood ratio that draws at `spent[measure, group]` can reach."""
    deltas = np.array([measure.delta for measure in plan.measures])
    return float((spent * np.abs(first - second) / deltas[:, np.newaxis]).sum())


def claimed(plan: Plan, spent: NDArray[np.float64]) -> float:
    layers = plan.caps.layers(plan.row_types)
    return float(plan.caps.worst(np.array([spent[list(m)].sum(axis=0) for m in layers])))


def without(rows: Sequence[Visit], person: int) -> list[Visit]:
    return [row for row in rows if row[0] != person]


def spendings(measures: int, groups: int, rng: random.Random) -> list[NDArray[np.float64]]:
    """Draws of all measures in all groups, of one in one, and at random."""
    found = [np.ones((measures, groups))]
    for measure in range(measures):
        for group in range(groups):
            one = np.zeros((measures, groups))
            one[measure, group] = 1.0
            found.append(one)
    for _ in range(20):
        values = [[rng.random() ** 3 for _ in range(groups)] for _ in range(measures)]
        found.append(np.array(values))
    return found


def worst_excess(
    folder: Path,
    rows: Sequence[Visit],
    person: int,
    claim: Policy,
    run: Policy,
    sql: str,
    make: Make = visits.as_parquet,
) -> float:
    """The largest loss met beyond the loss claimed, by caps `claim`, when `run` is executed."""
    plan = make_plan(sql, claim)
    executed = plan if run is claim else make_plan(sql, run)
    first = measured(folder, rows, run, executed, make)
    second = measured(folder, without(rows, person), run, executed, make)
    tried = spendings(len(first), len(first[0]), random.Random(5))
    return max(losses_met(plan, first, second, s) - claimed(plan, s) for s in tried)


CAPS: tuple[Cap, ...] = (
    (3, None, None),
    (6, 2, None),
    (6, None, 1),
    (9, 2, 2),
    (1, None, None),
    (9, 1, 4),
)


SOME = (CAPS[0], CAPS[3])
SLOWLY = [cap if cap in SOME else pytest.param(cap, marks=pytest.mark.slow) for cap in CAPS]


@pytest.mark.parametrize("cap", SLOWLY)
def test_one_person_stays_within_the_claim(tmp_path: Path, cap: Cap) -> None:
    rows = visits.visits(2, 30)
    policy = visits.policy(*cap)
    asked = ((0, QUERY.format(where="")), (22, JOINED.format(where="WHERE age <> 7")), (0, VALUES))
    for person, sql in asked:
        assert worst_excess(tmp_path, rows, person, policy, policy, sql) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("cap", [(3, None, None), (9, 2, 2)])
@pytest.mark.parametrize("kind", visits.KINDS)
def test_one_person_stays_within_the_claim_whatever_the_source(
    tmp_path: Path, kind: str, cap: Cap
) -> None:
    rows, policy = visits.visits(2, 30), visits.policy(*cap)
    sql = QUERY.format(where="WHERE age <> 7")
    assert worst_excess(tmp_path, rows, 0, policy, policy, sql, visits.KINDS[kind]) <= 1e-9


ANY_ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([*visits.WARDS, "elsewhere"]),
        st.integers(0, 130),
        st.just("x"),
    ),
    min_size=1,
    max_size=40,
)


def _stays_within_the_claim(tmp_path: Path, rows: list[Visit], person: int, cap: Cap) -> None:
    policy = visits.policy(*cap)
    sql = QUERY.format(where="")
    assert worst_excess(tmp_path, rows, person, policy, policy, sql) <= 1e-9


@settings(max_examples=2, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANY_ROWS, st.integers(0, 2), st.sampled_from(CAPS))
def test_whatever_the_rows_one_person_stays_within_the_claim(
    tmp_path: Path, rows: list[Visit], person: int, cap: Cap
) -> None:
    _stays_within_the_claim(tmp_path, rows, person, cap)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANY_ROWS, st.integers(0, 2), st.sampled_from(CAPS))
def test_however_often_it_is_tried(
    tmp_path: Path, rows: list[Visit], person: int, cap: Cap
) -> None:
    _stays_within_the_claim(tmp_path, rows, person, cap)


@pytest.mark.parametrize(
    ("claim", "run", "aggregate"),
    [
        ((5, None, None), (90, None, None), "count(*)"),
        ((9, 2, None), (9, None, None), "count(DISTINCT person)"),
        ((9, None, 1), (9, None, None), "count(*)"),
        ((30, 2, 2), (30, 2, None), "count(*)"),
    ],
)
def test_a_cap_that_is_ignored_is_caught(
    tmp_path: Path, claim: Cap, run: Cap, aggregate: str
) -> None:
    """The control: claim the loss of the caps, and scan without one of them."""
    rows = visits.visits(2, 30)
    sql = f"SELECT ward FROM visits GROUP BY ward HAVING {aggregate} > 5"
    excess = worst_excess(tmp_path, rows, 0, visits.policy(*claim), visits.policy(*run), sql)
    assert excess > 0.5


def test_each_row_without_a_person_is_a_person(tmp_path: Path) -> None:
    """Where they count at all, one of them changes one group, and no other row."""
    rows: list[Visit] = [(None, ward, age, "x") for ward in "AAAB" for age in (1, 60)]
    rows += [(1, "A", 1, "x")] * 5
    caps: tuple[Cap, ...] = ((3, None, None), (3, 1, 1))
    for cap in caps:
        policy = visits.policy(*cap, null="own")
        plan = make_plan(QUERY.format(where=""), policy)
        first = measured(tmp_path, rows, policy, plan)
        second = measured(tmp_path, rows[1:], policy, plan)
        assert first[0][:2].tolist() == [6 + min(3, plan.caps.per_group), 2]
        ones = np.ones(first.shape)
        assert losses_met(plan, first, second, ones) <= claimed(plan, ones) / plan.caps.rows + 1e-9
        dropped = visits.policy(*cap, null="drop")
        none = measured(tmp_path, rows, dropped, make_plan(QUERY.format(where=""), dropped))
        assert none[0].tolist() == [plan.caps.per_group, 0, 0, 0]


def test_the_caps_of_a_query_hold_within_the_domain_and_the_filter(tmp_path: Path) -> None:
    """A person's groups outside the keys, or outside WHERE, do not use up their caps."""
    rows: list[Visit] = [(1, "elsewhere", 1, f"n{i}") for i in range(3)]
    rows += [(1, ward, 1, "x") for ward in "ABC"] + [(1, "D", 99, "x")]
    policy = visits.policy(7, 3, 1)
    sql = "SELECT ward FROM visits WHERE age < 50 GROUP BY ward HAVING count(*) > 0"
    values = measured(tmp_path, rows, policy, make_plan(sql, policy))
    assert values[0].tolist() == [1, 1, 1, 0]
