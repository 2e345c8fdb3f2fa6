"""The short form of EXPLAIN: price first, and no sentence that the algorithm does not keep."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import pytest

from probe_sql.plan.brief import at_most, brief, brief_lines, way_out
from probe_sql.plan.explain import Explanation
from probe_sql.plan.zones import in_units
from probe_sql.session import explain_only
from tests.examples.clinic import POLICY

HAVING = "SELECT disease FROM patients GROUP BY disease HAVING count(*) > 500"
EARLIER = "It may stop earlier, and then costs less."


def lines(sql: str, **options: Any) -> list[str]:
    explanation = explain_only(sql, POLICY, **options)
    assert isinstance(explanation, Explanation)
    return brief_lines(explanation)


@pytest.mark.parametrize("algorithm", ["ladder", "probe", "probe-ent", "probe-naive"])
def test_what_climbs_may_cost_less(algorithm: str) -> None:
    assert lines(HAVING, algorithm=algorithm, epsilon=0.5)[0] == f"Costs at most ε 0.500. {EARLIER}"


def test_what_spends_all_does_not_promise_to_stop() -> None:
    assert lines(HAVING, spend="all", epsilon=0.1)[0] == "Costs at most ε 0.100."


@pytest.mark.parametrize("algorithm", ["naive", "apex"])
def test_what_draws_once_names_its_price(algorithm: str) -> None:
    assert EARLIER not in lines(HAVING, algorithm=algorithm)[0]


def test_what_needs_more_than_it_may_spend_says_so() -> None:
    assert lines(HAVING, algorithm="apex", epsilon=1e-6)[0].startswith("This would be denied")


def test_everything_fits_the_width_it_is_given() -> None:
    for width in (60, 80, 120):
        explanation = explain_only(HAVING + " OR avg(age) < 5", POLICY)
        assert isinstance(explanation, Explanation)
        tree = [line for line in brief_lines(explanation, width=width) if "─" in line]
        assert tree
        assert all(len(line) <= max(width, 80) for line in tree)


def test_what_is_more_than_remains_is_said_to_be_refused() -> None:
    assert at_most(1.0, 4.0) == "Costs at most ε 1.000 of your 4.000."
    assert at_most(1.0, 1.0, ", for one person").endswith("of your 1.000, for one person.")
    assert at_most(1.0, 0.5) == "This would be refused: it may cost ε 1.000, and 0.500 remains."


def test_the_curve_is_over_what_the_query_may_cost() -> None:
    """Values beside the decision take as much again, which is in the price that one may change."""
    either = HAVING + " OR avg(age) < 5"
    shown = either.replace("disease FROM", "disease, count(*) AS n FROM")
    for sql, doubted in ((either, "47 rows"), (shown, "94 rows")):
        found = lines(sql, epsilon=0.1)
        assert any("in doubt at ε 0.1 " in f"{line} " for line in found)
        last = next(line for line in found if "→" in line)
        assert re.search(rf"→ ε 0\.1 +{doubted} █", last)


@pytest.mark.parametrize(
    ("asked", "epsilons"),
    [(0.1, ["0.01", "0.03", "→0.1", "0.3", "1"]), (1.0, ["0.01", "0.03", "0.1", "0.3", "→1"]),
     (0.5, ["0.01", "0.03", "0.1", "→0.5", "1"]), (3.0, ["0.03", "0.09", "0.3", "0.9", "→3"])],
)  # fmt: skip
def test_the_curve_tells_what_dearer_questions_would_leave_in_doubt(
    asked: float, epsilons: list[str]
) -> None:
    explanation = explain_only(HAVING + " OR avg(age) < 5", POLICY, epsilon=asked)
    assert isinstance(explanation, Explanation)
    curve = brief(explanation).curve
    assert [f"{'→' * here}{epsilon}" for epsilon, _, _, here in curve] == epsilons
    for epsilon, _, share, _ in curve:  # all of it goes with 1/epsilon
        assert share == pytest.approx(float(curve[0][0]) / float(epsilon), rel=1e-6)


def test_one_row_is_no_rows() -> None:
    assert [in_units(width, " rows") for width in ("0.9", "1", "11")] == [
        "0.9 rows",
        "1 row",
        "11 rows",
    ]


@pytest.mark.parametrize(
    ("epsilon", "margin", "remaining", "enough"),
    [(1.0, None, 4.0, None), (3.0, None, 1.23456, "1.234"), (3.0, None, 0.0004, None),
     (0.1, 20, 4.0, "0.147"), (0.1, 20, 0.12, None), (0.1, 20, None, "0.147"),
     (1.0, 20, 0.5, None)],
)  # fmt: skip
def test_what_would_do_is_proposed_where_it_would_do(
    epsilon: float, margin: float | None, remaining: float | None, enough: str | None
) -> None:
    sql = "SELECT ward, count(*) AS n FROM patients GROUP BY ward"
    options: dict[str, Any] = {"margin": margin} if margin else {}
    explanation = explain_only(sql, POLICY, epsilon=epsilon, **options)
    assert isinstance(explanation, Explanation)
    assert way_out(explanation, remaining) == enough
    if enough is not None:
        better = explain_only(sql, POLICY, epsilon=float(enough), **options)
        assert isinstance(better, Explanation)
        assert way_out(better, remaining) is None
        assert brief(better, remaining).price.startswith("Costs at most")


def test_a_card_says_what_the_short_form_says() -> None:
    explanation = explain_only(HAVING + " OR avg(age) < 5", POLICY, epsilon=0.1)
    assert isinstance(explanation, Explanation)
    card = unescape(explanation._repr_html_())
    short = brief_lines(explanation)
    assert "Costs at most ε 0.100" in card
    for part in ("├─ count(*) > 500", "in doubt at ε 0.1", "* in a group of 2,000 rows"):
        assert part in card
        assert any(part in line for line in short)
    assert card.count('class="z"') == 5
