"""What is charged rests on two facts of a plan: who meets whom in a row, and delta."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy, load_policy


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(Path(__file__).parent.parent / "data" / "clinic.toml")


def plan_of(having: str, policy: Policy) -> Plan:
    return make_plan(f"SELECT ward FROM patients GROUP BY ward HAVING {having}", policy)


@pytest.mark.parametrize(
    "having",
    [
        # Somebody of 70 in ward B enters both, though A and B exclude each other.
        "count_if(ward = 'A') + count_if(age > 60) > 5 AND count_if(ward = 'B') > 5",
        "count_if(ward = 'B') > 5 AND count_if(ward = 'A') + count_if(age > 60) > 5",
        "count_if(ward = 'A') + count(*) > 5 AND count_if(ward = 'B') > 5",
        "count_if(age < 5) - count_if(age > 60) > 5 AND count_if(age > 80) > 5",
    ],
)
def test_measures_that_meet_in_one_of_their_parts_are_charged_together(
    having: str, policy: Policy
) -> None:
    plan = plan_of(having, policy)
    assert plan.row_types == ((0, 1),)
    assert plan.unit_epsilon([1.0, 1.0]) >= 2


def test_measures_that_exclude_each_other_in_every_part_are_not(policy: Policy) -> None:
    plan = plan_of("count_if(age < 5) - count_if(age = 9) > 5 AND count_if(age > 80) > 5", policy)
    assert plan.row_types == ((0,), (1,))


SIGNS = {"added": (1,), "taken away": (-1,), "mixed": (1, -1, -1)}


@pytest.mark.parametrize(("parts", "signs"), list(product((12, 13, 14, 20), SIGNS)))
def test_delta_covers_a_row_that_is_in_many_parts_at_once(
    parts: int, signs: str, policy: Policy
) -> None:
    """Rows of every age against a sum of up to twenty counts that overlap."""
    pattern = SIGNS[signs]
    terms = [(pattern[number % len(pattern)], 5 * number) for number in range(parts)]
    text = " ".join(f"{'+' if sign > 0 else '-'} count_if(age > {age})" for sign, age in terms)
    (measure,) = plan_of(f"{text.removeprefix('+ ')} > 50", policy).measures
    changes = [sum(sign for sign, limit in terms if age > limit) for age in range(121)]
    assert measure.delta >= max(map(abs, changes))
    if signs != "mixed":
        assert measure.delta == parts  # reached, so nothing smaller would do
