"""EXPLAIN's zone of doubt: by epsilon, in the units of the query, from public numbers alone."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from probe_sql.plan.brief import brief
from probe_sql.plan.doubt import SHARES, Doubt
from probe_sql.plan.explain import Explanation, explain
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, load_policy
from probe_sql.policy.model import Unit
from tests.examples.clinic import POLICY

COUNT = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 100"
MIXED = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 100 AND avg(age) > 65"


@pytest.fixture(scope="module")
def policy() -> Policy:
    return load_policy(POLICY)


def explained(sql: str, policy: Policy, **options: Any) -> Explanation:
    return explain(make_plan(sql, policy, (), **{"algorithm": "ladder", "fdr": 0.1, **options}))


def of(found: Explanation) -> Doubt:
    assert found.doubt is not None
    return found.doubt


def test_a_line_within_what_one_row_adds_has_its_short_lines_too(policy: Policy) -> None:
    """The first draws tell it to the step, so that there is no zone to draw."""
    found = explained("SELECT ward FROM patients GROUP BY ward HAVING sum(cost) > 10", policy)
    assert found.doubt is None
    assert "sum(cost) > 10" in str(brief(found))


def test_the_zone_is_twice_the_shift_of_the_threshold(policy: Policy) -> None:
    found = of(explained(COUNT, policy, epsilon=2.0))
    assert found.epsilons == pytest.approx([2 * share for share in SHARES])
    [zone] = found.zones
    # A twentieth of fnr is for kills.
    expected = [2 * math.log(1 / (2 * 0.0475)) / epsilon for epsilon in found.epsilons]
    assert zone.widths == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("bound", [{}, {"fdr": None, "fpr": 0.1}, {"fdr": None, "primary": "fpr"}])
@pytest.mark.parametrize("sql", [COUNT, MIXED])
def test_what_marks_its_open_groups_has_the_zone_of_what_denies(
    policy: Policy, sql: str, bound: dict[str, Any]
) -> None:
    """They answer with their state at the last level, so a group is listed as it would be there."""
    options = {"fdr": 0.1, **bound}
    given = {name: value for name, value in options.items() if value is not None}
    denies, marks = (
        explain(make_plan(sql, policy, (), algorithm="ladder", on_exhausted=end, **given))
        for end in ("deny", "mark")
    )
    assert of(marks) == of(denies)
    assert brief(marks).tree == brief(denies).tree
    assert brief(marks).curve == brief(denies).curve
    assert brief(marks).zone


def test_a_smaller_bound_doubts_more(policy: Policy) -> None:
    wide, small = of(explained(COUNT, policy)), of(explained(COUNT, policy, fnr=0.001))
    assert small.zones[0].widths[0] > 2 * wide.zones[0].widths[0]


def test_sums_are_in_their_own_units(policy: Policy) -> None:
    count, average = of(explained(MIXED, policy)).zones
    assert (count.average, average.average) == (False, True)
    ratio = average.widths[0] / count.widths[0]
    assert ratio == pytest.approx(65, rel=0.01)  # as far as one row moves sum(age) - 65 count


def test_a_person_weighs_as_many_rows(policy: Policy) -> None:
    table = policy.tables["patients"]
    unit = Unit(next(iter(table.columns)), max_rows=7)
    capped = replace(policy, tables={**policy.tables, "patients": replace(table, unit=unit)})
    row, person = explained(COUNT, policy), explained(COUNT, capped)
    assert of(person).zones[0].widths == pytest.approx(
        [7 * width for width in of(row).zones[0].widths]
    )


def test_values_that_cost_as_much_again_leave_half(policy: Policy) -> None:
    shown = explained(MIXED.replace("SELECT ward", "SELECT ward, count(*)"), policy)
    assert of(shown).epsilons[-1] == pytest.approx(0.5)


def test_the_mirrored_problem_doubts_what_is_missed(policy: Policy) -> None:
    found = explain(make_plan(COUNT, policy, (), primary="fpr"))
    assert "groups that exceed a line by up to this may be missed" in str(found)


def test_text_and_json_say_the_same(policy: Policy) -> None:
    found = explained(MIXED, policy)
    lines = of(found).lines()
    assert len(lines) == 3 + len(SHARES)
    assert "\ndoubt       groups that lack up to this much may be listed wrongly" in str(found)
    assert all(line in str(found) for line in lines)
    data = json.loads(json.dumps(found.as_dict()))
    assert data["doubt"]["zones"][1]["divided_by_rows"] is True
    assert len(data["doubt"]["epsilons"]) == len(data["doubt"]["zones"][0]["widths"]) == 5
    assert data["groups"] == 3
    assert data["number"] == {
        "name": "the condition",
        "level": 1,
        "epsilon": found.epsilon_first,
        "balance": None,
    }


def test_no_zone_where_no_draw_decides_or_nothing_is_bounded(policy: Policy) -> None:
    sql = COUNT.replace("> 100", ">= 0")
    assert explained(sql, policy).doubt is None
    tolerant = explain(make_plan(COUNT, policy, (), algorithm="apex"))
    assert tolerant.doubt is None
    assert tolerant.as_dict()["number"] is None


def _card(found: Explanation) -> ElementTree.Element:
    """A notebook's explanation, read as XML."""
    return ElementTree.fromstring(found._repr_html_())


def test_a_notebook_shows_the_zone_as_a_chart(policy: Policy) -> None:
    found = explained(MIXED, policy)
    assert found.doubt is not None
    card = _card(found)
    bars = [float(bar.attrib["width"].rstrip("%")) for bar in card.iter("rect")]
    assert len(bars) == len(SHARES)
    assert bars == sorted(bars, reverse=True)
    assert bars[2] / bars[0] == pytest.approx(SHARES[0] / SHARES[2], abs=0.02)
    said = " ".join(card.itertext())
    assert "may be listed wrongly" in said
    assert all(f"{epsilon:.3g}" in said for epsilon in found.doubt.epsilons)
    assert "at most ε" in said.lower()


def test_text_of_the_query_is_shown_in_the_chart_and_never_obeyed(policy: Policy) -> None:
    kind = "<script>alert(1)</script>&\u202e"
    hostile = COUNT.replace("count(*)", f"count_if(disease_type = '{kind}')")
    found = explained(hostile, policy)
    text = found._repr_html_()
    assert "<script" not in text
    assert "\u202e" not in text
    assert "&lt;script&gt;" in text
    _card(found)


def test_without_a_zone_there_is_no_chart(policy: Policy) -> None:
    assert "<svg" not in explained(COUNT.replace("> 100", ">= 0"), policy)._repr_html_()
