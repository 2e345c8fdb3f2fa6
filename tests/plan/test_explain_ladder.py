"""EXPLAIN of `ladder`: one number for the condition, and what shown values add."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from probe_sql.plan.explain import Explanation, explain
from probe_sql.plan.plan import make_plan
from probe_sql.plan.release import margin_epsilon
from probe_sql.policy import Policy, load_policy
from tests.examples.clinic import POLICY

HAVING = "GROUP BY ward HAVING count(*) > 700 AND (avg(age) > 65 OR count_if(age < 5) > 40)"
BARE = f"SELECT ward FROM patients {HAVING}"
SHOWN = f"SELECT ward, count(*) FROM patients {HAVING}"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(POLICY)


def _explained(sql: str, policy: Policy) -> Explanation:
    return explain(make_plan(sql, policy, (), algorithm="ladder"))


def test_one_number_is_paid_for_once_and_gets_the_whole_bound(policy: Policy) -> None:
    found = _explained(BARE, policy)
    [epsilon] = {draw.epsilon for draw in found.draws}
    rows = max(atom.range / atom.delta for atom in found.plan.atoms)
    # A twentieth of the bound is for kills. The first of the levels, which are powers of 1.08, at
    # or below what `start` asks for.
    shared = 0.05 * 0.95
    assert 1 / 1.08 < epsilon / (math.log(1 / (2 * shared)) / (2 * rows)) <= 1
    assert found.epsilon_first == pytest.approx(epsilon)
    assert [draw.beta for draw in found.draws] == pytest.approx([shared] * len(found.draws))
    assert "of the condition, measured as one number: epsilon" in str(found)


def test_values_that_are_shown_cost_as_much_again(policy: Policy) -> None:
    bare, shown = _explained(BARE, policy), _explained(SHOWN, policy)
    assert shown.plan.releases.free
    assert not shown.plan.releases.extra
    assert shown.epsilon_first == bare.epsilon_first
    assert "as much again as the decision, which may therefore use at most 0.5" in str(shown)
    assert "as much again" not in str(bare)


def test_one_comparison_that_is_shown_is_decided_on_itself(policy: Policy) -> None:
    found = _explained(
        "SELECT ward, count(*) FROM patients GROUP BY ward HAVING count(*) > 9", policy
    )
    assert "one number" not in str(found)
    assert "as much again" not in str(found)


def test_a_margin_holds_for_what_having_measures_too(policy: Policy) -> None:
    plan = make_plan(SHOWN, policy, (), algorithm="ladder", margin=50, confidence=0.9)
    [(measure, epsilon)] = plan.releases.extra
    assert plan.measures[measure].text == "count(*)"
    assert epsilon == pytest.approx(margin_epsilon(50, 0.9, Fraction(1), 1))
    assert not plan.releases.free
    paper = make_plan(SHOWN, policy, (), algorithm="probe", margin=50, confidence=0.9)
    assert paper.releases.extra == plan.releases.extra  # though `probe` measures it
    assert make_plan(SHOWN, policy, (), algorithm="probe").releases.free == {measure}


def test_the_bound_on_the_list_is_in_the_promise(policy: Policy) -> None:
    plan = make_plan(BARE, policy, (), algorithm="ladder", fdr=0.1)
    text = str(explain(plan))
    assert "ladder, fnr 0.05, fdr 0.1, epsilon" in text
    assert "on average over the noise at most 0.1 of the groups listed do not satisfy it" in text
    assert "a denied run counts with the groups that more epsilon would have listed" in text
    assert "fpr" not in explain(plan).as_dict()["accuracy"]


def test_a_value_that_having_does_not_measure_is_no_reason(policy: Policy) -> None:
    sql = f"SELECT ward, count_if(age > 90) FROM patients {HAVING}"
    plan = make_plan(sql, policy, (), algorithm="ladder", margin=50, confidence=0.9)
    assert plan.releases.extra
    assert not plan.releases.free
    assert "one number" in str(explain(plan))
