"""What is written for PostgreSQL, without a server: its forms, and what has none."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import exp

from probe_sql.errors import Refused
from probe_sql.plan.plan import Plan, make_plan
from probe_sql.policy import Policy
from probe_sql.scan.postgres.engine import POSTGRESQL, PostgresEngine, Shape
from probe_sql.sql.forms import postgres_floats as floats
from probe_sql.sql.ranges import UNBOUNDED
from probe_sql.types import parse_type
from tests.engines import edges

SHAPE = Shape("edges", {n: parse_type(t.split()[0]) for n, t in edges.COLUMNS.items()})
ENGINE = PostgresEngine("PostgreSQL", "postgres", POSTGRESQL.translator, "s", {"edges": SHAPE})
X = exp.column("x")


@pytest.fixture(scope="module")
def policy() -> Policy:
    return edges.policy().with_types({"edges": SHAPE.columns})


def planned(policy: Policy, having: str) -> Plan:
    return make_plan(f"SELECT k FROM edges GROUP BY k HAVING {having}", policy, engine=ENGINE)


def said(policy: Policy, having: str) -> str:
    (statement,) = ENGINE.statements(planned(policy, having).scan)
    return statement


def test_names_are_qualified_and_texts_compared_by_bytes(policy: Policy) -> None:
    text = said(policy, "count(*) FILTER (WHERE s > 'a') > 3")
    assert 'FROM "s"."edges" AS t' in text
    assert '(t."s" COLLATE "C") > (\'a\' COLLATE "C")' in text
    assert "COUNT(*) FILTER(WHERE" in text


def test_decimals_are_summed_exactly(policy: Policy) -> None:
    text = said(policy, "sum(n) > 3")
    assert "r.v0 BETWEEN CAST('-1000.00' AS DECIMAL(12, 2))" in text
    assert "DOUBLE" not in text


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        ("x * y > 1", "CAST both sides to DECIMAL"),
        ("x + y > 1", "bound its parts"),
        ("least(greatest(x, -1), 1) * least(greatest(y, -1), 1) > 1", "CAST both sides to DECIMAL"),
        ("1 / x > 1", "CAST both sides to DECIMAL"),
        ("CAST(i AS HUGEINT) * 1e0 > 1", "fewer digits"),
        ("CAST(x AS DECIMAL(30,2)) > 1", "fewer digits"),
        ("CAST(s AS DOUBLE) > 1", "do not read the same texts"),
        ("CAST(x AS VARCHAR) = '1'", "do not write the same texts"),
        ("CAST(d AS VARCHAR) = '1'", "do not write the same texts"),
        ("lower(s) = 'a'", "locale"),
        ("ln(x) > 1", "last digit"),
        ("substring(s, 1000000001) = ''", "no text is so long"),
        ("round(" * 12 + "x * 1.1" + ")" * 12 + " > 1", "becomes too long"),
    ],
)
def test_what_has_no_form_is_refused_with_its_place(
    condition: str, reason: str, policy: Policy
) -> None:
    with pytest.raises(Refused) as caught:
        planned(policy, f"count(*) FILTER (WHERE {condition}) > 3")
    assert reason in str(caught.value)
    assert "PostgreSQL" in str(caught.value)
    assert "^" in str(caught.value)


def test_long_lists_are_not_deep_expressions(policy: Policy) -> None:
    listed = ", ".join(map(str, range(1_500)))
    assert "1499" in said(policy, f"count(*) FILTER (WHERE abs(i) IN ({listed})) > 3")


# --- where floats overflow and vanish ---------------------------------------------------------

SIZES = st.floats(min_value=2.0**-1000, max_value=2.0**1000)


def edge_of(node: exp.Expr | None, word: str) -> list[float]:
    """The values that a guard compares with."""
    assert node is not None
    kinds = {"over": exp.GT, "under": exp.LTE}
    found = node.find_all(kinds[word])
    return [float(test.expression.this.name) for test in found]


@given(SIZES)
def test_the_last_factor_before_overflow_and_the_last_that_vanishes(c: float) -> None:
    node = floats.product(X, exp.Literal.number("1"), (None, c), (UNBOUNDED, UNBOUNDED))
    for edge in edge_of(node, "over"):
        assert math.isfinite(edge * c)
        assert math.isinf(math.nextafter(edge, math.inf) * c)
    for edge in edge_of(node, "under"):
        assert edge * c == 0
        assert math.nextafter(edge, 1.0) * c > 0
    if node is not None and not node.find(exp.Case):
        assert math.isfinite(floats.MAX * c)
        assert 5e-324 * c > 0


@given(SIZES)
def test_the_same_for_quotients(c: float) -> None:
    node = floats.quotient(X, exp.Literal.number("1"), (None, c), (UNBOUNDED, UNBOUNDED))
    for edge in edge_of(node, "over"):
        assert math.isfinite(edge / c)
        assert edge == floats.MAX or math.isinf(math.nextafter(edge, math.inf) / c)
    for edge in edge_of(node, "under"):
        assert edge / c == 0
        assert math.nextafter(edge, 1.0) / c > 0
    if node is not None and not node.find(exp.Case):
        assert math.isfinite(floats.MAX / c)
        assert 5e-324 / c > 0


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_halves_are_rounded_away_from_zero(x: float) -> None:
    """What `away_from_zero` writes, computed here, against exact integers."""
    below_half = math.nextafter(0.5, 0.0)
    found = math.trunc(x + math.copysign(below_half, x)) if x else 0
    whole = math.floor(abs(x))
    exact = whole + (abs(x) - whole >= 0.5)
    assert found == (exact if x > 0 else -exact)
    text = floats.away_from_zero(X).sql("postgres")
    assert text == f"TRUNC(x + (SIGN(x) * CAST('{below_half!r}' AS DOUBLE PRECISION)))"


@pytest.mark.parametrize("whole", [0, 127, 128, 255, 32767, 2**31 - 1, 2**32 - 1, 2**63 - 1])
def test_the_last_float_that_rounds_into_a_type(whole: int) -> None:
    last = floats.last_that_rounds_to(whole)
    assert round(last) <= whole < round(math.nextafter(last, math.inf))
