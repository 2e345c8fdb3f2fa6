"""Plans: atoms in normal form, shared aggregates, folding, options, accounting."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from probe_sql.errors import AccuracyError, Refused, SqlError
from probe_sql.logic import render
from probe_sql.measuring import OPEN
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy, load_policy, parse_policy
from tests.examples.clinic import POLICY
from tests.examples.policies import listed, one_table, people

INTRODUCTORY = """
SELECT disease, count(*) AS cases
FROM patients
WHERE disease_type = 'viral'
GROUP BY disease
HAVING (count(*) > 500 AND avg(age) > 65) OR (count(*) > 200 AND avg(age) < 5)
WITH ACCURACY (fnr = 0.05, fpr = 0.10, epsilon = 1.0, algorithm = 'probe');
"""


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(POLICY)


def plan_of(having: str, policy: Policy, select: str = "ward", **options: Any) -> Plan:
    sql = f"SELECT {select} FROM patients GROUP BY ward HAVING {having}"
    return make_plan(sql, policy, (), **options)


def normal(plan: Plan) -> list[tuple[int, object, int]]:
    return [(atom.sign, atom.threshold, atom.delta) for atom in plan.atoms]


def test_introductory_query_has_four_atoms_and_two_aggregates(policy: Policy) -> None:
    plan = make_plan(INTRODUCTORY, policy)
    assert [aggregate.text for aggregate in plan.aggregates] == ["count(*)", "avg(age)"]
    assert normal(plan) == [(1, 500, 1), (1, 0, 65), (1, 200, 1), (-1, 0, 115)]
    assert len(plan.measures) == 3
    assert len(plan.scan.tallies) == 3
    assert render(plan.formula, [a.name for a in plan.atoms]) == "(Q1 AND Q2) OR (Q3 AND Q4)"


@pytest.mark.parametrize(
    ("having", "expected"),
    [
        ("count(*) > 500.5", [(1, 500, 1)]),
        ("count(*) >= 500.5", [(1, 500, 1)]),
        ("count(*) >= 500", [(1, 499, 1)]),
        ("count(*) < 20", [(-1, -20, 1)]),
        ("count(*) <= 20", [(-1, -21, 1)]),
        ("20 > count(*)", [(-1, -20, 1)]),
        ("NOT count(*) > 20", [(-1, -21, 1)]),
        ("count(*) BETWEEN 5 AND 9", [(1, 4, 1), (-1, -10, 1)]),
        ("count(*) = 7", [(1, 6, 1), (-1, -8, 1)]),
        ("sum(age) > 1000", [(1, 1000, 120)]),
        ("sum(cost) > 1000.55", [(1, 100055, 10**6)]),
        ("avg(age) > 65.5", [(1, 0, 131)]),
        ("avg(age) >= 65", [(1, -1, 65)]),
        ("avg(cost) > 18", [(1, 0, 998_200)]),  # (cost - 18) * 100 lies in [-1800, 998200]
        ("count_if(age > 60) > 0.3 * count(*)", [(1, 0, 7)]),
        ("sum(age) / count(*) > 30", [(1, 0, 90)]),
        ("count(*) / count(DISTINCT age) > 3", [(1, 0, 2)]),
        ("max(age) > 90", [(1, 0, 1)]),
        ("max(age) < 90", [(1, -1, 1)]),
        ("median(age) > 40", [(1, 0, 1)]),
        ("quantile_disc(age, 0.9) > 70", [(1, 0, 9)]),
        ("count(DISTINCT disease_type) > 7", [(1, 7, 1)]),
        ("sum(CASE WHEN age > 60 THEN 1 END) > 5", [(1, 5, 1)]),
    ],
)
def test_normal_form(having: str, expected: list[tuple[int, int, int]], policy: Policy) -> None:
    assert normal(plan_of(having, policy)) == expected


def test_an_aggregate_is_measured_once_for_both_directions(policy: Policy) -> None:
    plan = plan_of("count(*) > 500 OR count(*) < 20", policy)
    assert len(plan.measures) == 1
    assert [atom.sign for atom in plan.atoms] == [1, -1]


@pytest.mark.parametrize(
    ("having", "verdict"),
    [
        ("count(*) > 20 AND count(*) < 10", False),
        ("count(*) > 5 OR count(*) < 10", True),
        ("count(*) >= 0", True),
        ("count(*) < 0", False),
        ("avg(age) > 5 OR avg(age) <= 5", None),  # NULL satisfies neither
        ("avg(age) > 65 AND avg(age) < 5", False),
        ("TRUE", True),
    ],
)
def test_contradictions_and_tautologies_cost_nothing(
    having: str, verdict: bool | None, policy: Policy
) -> None:
    plan = plan_of(having, policy)
    assert plan.verdict is verdict
    if verdict is not None:
        assert plan.measures == ()


def test_exclusive_filters_form_separate_row_types(policy: Policy) -> None:
    having = "count_if(ward = 'A') > 5 AND count_if(ward = 'B') > 5 AND count(*) > 9"
    plan = plan_of(having, policy)
    assert plan.row_types == ((0, 2), (1, 2))


def test_overlapping_filters_share_a_row_type(policy: Policy) -> None:
    plan = plan_of("count_if(age > 60) > 5 AND count_if(age > 50) > 5", policy)
    assert plan.row_types == ((0, 1),)


def test_options_follow_their_precedence(policy: Policy) -> None:
    sql = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5"
    assert make_plan(sql, policy).accuracy.fnr == 0.05  # policy
    assert make_plan(sql, policy, (), fnr=0.02).accuracy.fnr == 0.02  # argument
    clause = sql + " WITH ACCURACY (fnr = 0.01)"
    assert make_plan(clause, policy, (), fnr=0.02).accuracy.fnr == 0.01  # clause
    assert make_plan(sql, policy).accuracy.epsilon == 1.0  # per_query of the policy


def test_a_wrong_option_is_underlined(policy: Policy) -> None:
    sql = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5 WITH ACCURACY (fnr = 0.7)"
    with pytest.raises(AccuracyError) as caught:
        make_plan(sql, policy)
    assert caught.value.span is not None
    assert sql[caught.value.span.start : caught.value.span.end] == "fnr = 0.7"


def test_parameters_fill_query_and_clause(policy: Policy) -> None:
    sql = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > ? WITH ACCURACY (epsilon = ?)"
    plan = make_plan(sql, policy, [41, 0.5])
    assert plan.atoms[0].threshold == 41
    assert plan.accuracy.epsilon == 0.5


def test_a_range_hint_is_in_units_of_the_aggregate(policy: Policy) -> None:
    plan = plan_of("sum(cost) > 1000", policy, ranges={"SUM(cost)": 5000})
    assert plan.atoms[0].range == 5000 * 100
    assert plan_of("sum(cost) > 1000", policy).atoms[0].range == 2 * 1000 * 100


def test_a_range_that_belongs_to_nothing_is_told(policy: Policy) -> None:
    plan = plan_of("sum(cost) > 1000", policy, ranges={"SUM( cost )": 5000, "avg(cost)": 7})
    told = [notice for notice in plan.notices if notice.startswith("the range of")]
    assert told == [
        "the range of avg(cost) belongs to no comparison of this query, and was not used"
    ]


def test_a_missing_bound_names_the_line_to_add(policy: Policy) -> None:
    with pytest.raises(SqlError) as caught:
        plan_of("sum(disease_type) > 5", policy)
    assert "[tables.patients.columns]  disease_type = { bounds = [low, high] }" in str(caught.value)


def test_a_value_that_having_measures_is_free(policy: Policy) -> None:
    plan = plan_of("count(*) > 50", policy, select="ward, count(*) AS n, 2 * count(*) AS twice")
    assert plan.release_loss.epsilon == 0
    assert [release.top.factor for release in plan.releases.columns] == [1, 2]


def test_a_value_that_having_does_not_measure_needs_a_margin_or_the_ladder(policy: Policy) -> None:
    with pytest.raises(SqlError, match="needs a margin"):
        plan_of("count(*) > 50", policy, select="ward, sum(age)", algorithm="probe")
    values = plan_of("count(*) >= 0", policy, select="ward, sum(age)")
    assert (len(values.figures), values.releases.columns) == (1, ())
    beside = plan_of("count(*) > 50", policy, select="ward, sum(age)").releases
    assert (len(beside.free), beside.extra) == (1, ())
    plan = plan_of("count(*) > 50", policy, select="ward, sum(age)", margin=1000, confidence=0.9)
    assert plan.release_loss.epsilon > 0


def test_an_average_comes_from_its_measured_sum_and_count(policy: Policy) -> None:
    plan = plan_of("avg(age) > 65 AND count(age) > 10", policy, select="ward, avg(age)")
    release = plan.releases.columns[0]
    assert plan.release_loss.epsilon == 0
    assert release.bottom is not None
    assert release.shift == Fraction(65)


def test_per_group_thresholds_come_from_a_public_table(policy: Policy) -> None:
    sql = (
        "SELECT disease FROM patients JOIN diseases ON diseases.name = patients.disease "
        "GROUP BY disease HAVING count(*) > diseases.cap"
    )
    plan = make_plan(sql, policy)
    assert plan.atoms[0].threshold is OPEN
    assert plan.scan.thresholds == (plan.origins[0].threshold,)
    [atom] = plan.task(3, [np.array([4, 5, 6])]).atoms
    assert atom == replace(plan.atoms[0], threshold=atom.threshold)
    assert list(np.asarray(atom.threshold)) == [4, 5, 6]


def test_a_table_of_people_is_planned_with_their_caps() -> None:
    policy = parse_policy(
        one_table(
            "visits", {"person": "", "ward": listed("A", "B")}, unit=people("person", 5, 2, 2)
        )
    )
    having = "count(*) > 5 AND count(DISTINCT person) > 2"
    plan = make_plan(f"SELECT ward FROM visits GROUP BY ward HAVING {having}", policy)
    caps = plan.caps
    assert (caps.column, caps.most) == ("person", 5)
    assert (caps.rows, caps.groups, caps.per_group) == (4, 2, 2)
    assert caps.once == {1}
    assert plan.unit_loss([1.0, 0.0]).epsilon == pytest.approx(4)
    assert plan.unit_loss([0.0, 1.0]).epsilon == pytest.approx(2)


def test_more_than_sixteen_atoms_are_refused(policy: Policy) -> None:
    having = " AND ".join(f"count_if(age = {age}) > 5" for age in range(17))
    with pytest.raises(Refused, match="16"):
        plan_of(having, policy)


def test_what_minimising_drops_is_neither_scanned_nor_numbered(policy: Policy) -> None:
    plan = plan_of("sum(cost) > 9 AND (count(*) > 3 OR (count(*) > 3 AND avg(age) > 50))", policy)
    alone = plan_of("sum(cost) > 9 AND count(*) > 3", policy)
    assert [atom.name for atom in plan.atoms] == ["Q1", "Q2"]
    assert [atom.measure for atom in plan.atoms] == [0, 1]
    assert (plan.atoms, plan.formula, plan.row_types) == (alone.atoms, alone.formula, ((0, 1),))
    assert plan.scan == alone.scan
    assert len(plan.written.atoms) == 3


def test_a_filter_that_only_a_dropped_comparison_relied_on_is_not_enforced(policy: Policy) -> None:
    filters = [
        f"count(*) FILTER (WHERE disease_type = '{kind}') > 3" for kind in ("viral", "fungal")
    ]
    kept = plan_of(" AND ".join(filters), policy)
    assert any(tally.after for tally in kept.scan.tallies)
    dropped = plan_of(f"{filters[0]} AND ({filters[0]} OR {filters[1]})", policy)
    assert [tally.after for tally in dropped.scan.tallies] == [()]
