"""EXPLAIN of `ladder`: one number for the condition, unless the SELECT list shows others."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from probe_sql.plan.explain import Explanation, explain
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, load_policy

HAVING = "GROUP BY ward HAVING count(*) > 700 AND (avg(age) > 65 OR count_if(age < 5) > 40)"
BARE = f"SELECT ward FROM patients {HAVING}"
SHOWN = f"SELECT ward, count(*) FROM patients {HAVING}"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(Path(__file__).parent.parent / "data" / "clinic.toml")


def _explained(sql: str, policy: Policy) -> Explanation:
    return explain(make_plan(sql, policy, (), algorithm="ladder"))


def test_one_number_is_paid_for_once_and_gets_the_whole_bound(policy: Policy) -> None:
    found = _explained(BARE, policy)
    [epsilon] = {draw.epsilon for draw in found.draws}
    rows = max(atom.range / atom.delta for atom in found.plan.atoms)
    # The first of the levels, which are powers of 1.15, at or below what `start` asks for.
    assert 1 / 1.15 < epsilon / (math.log(10) / (2 * rows)) <= 1
    assert found.epsilon_first == pytest.approx(epsilon)
    # All of the bound but for the tenth that is kept for killing atoms early.
    assert [draw.beta for draw in found.draws] == pytest.approx([0.9 * 0.05] * len(found.draws))
    assert "of the condition, measured as one number: epsilon" in str(found)


def test_values_that_are_shown_are_measured_each(policy: Policy) -> None:
    bare, shown = _explained(BARE, policy), _explained(SHOWN, policy)
    assert shown.plan.releases.free
    assert not shown.plan.releases.extra
    assert shown.epsilon_first > bare.epsilon_first
    assert "one number" not in str(shown)
    assert max(draw.beta for draw in shown.draws) < 0.05


def test_a_value_that_having_does_not_measure_is_no_reason(policy: Policy) -> None:
    sql = f"SELECT ward, count_if(age > 90) FROM patients {HAVING}"
    plan = make_plan(sql, policy, (), algorithm="ladder", margin=50, confidence=0.9)
    assert plan.releases.extra
    assert not plan.releases.free
    assert "one number" in str(explain(plan))
