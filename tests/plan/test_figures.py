"""What a figure is made of gives DuckDB's value, and says where the value lies in any case."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from tests.examples.hospital import STAYS, Row
from tests.plan.test_sensitivity import measure, with_rows
from tests.plan.test_sharing import LISTS, plan_of

FIGURES = (  # a value, its kind, and where it lies in any case
    ("count(*)", "amount", 0, None),
    ("count(*) + 5", "amount", 5, None),
    ("5 - count(age)", "amount", None, 5),
    ("-sum(age)", "amount", None, 0),
    ("2 * sum(cost) - 1", "amount", -1, None),
    ("sum(paid)", "amount", None, None),
    ("-sum(paid)", "amount", None, None),
    ("sum(age) - sum(paid)", "amount", None, None),
    ("sum(paid) - sum(age)", "amount", None, None),
    ("avg(paid)", "mean", -500.5, 500.5),
    ("avg(age + 10)", "mean", 10, 130),
    ("-2 * avg(age) + 5", "mean", -235, 5),
    ("count_if(urgent) / count(*)", "mean", 0, 1),
    ("(sum(age) + sum(paid)) / count(*)", "mean", -500.5, 620.5),
    ("(sum(CASE WHEN urgent THEN 1 ELSE 0 END) + sum(age + 10)) / count(*)", "mean", 0, 131),
    ("(sum(age) + count(DISTINCT cost)) / count(*)", "ratio", 0, None),
    ("(sum(age) + sum(cost)) / count(age)", "ratio", 0, None),
    ("sum(paid) / sum(cost)", "ratio", None, None),
    ("sum(age) / sum(cost)", "ratio", 0, None),
    ("-sum(age) / count(DISTINCT age)", "ratio", None, None),
)  # fmt: skip
RANKED = (  # chosen among what the bounds allow, not measured
    ("median(age)", "quantile", 0, 120),
    ("max(paid)", "quantile", -500.5, 500.5),
    ("quantile_disc(cost, 0.9)", "quantile", 0, 10000),
)
OTHERS = ("-avg(cost), count(*)", "(sum(age) + count(*)) / count(*)")
VALUES = tuple(dict.fromkeys([*(row[0] for row in FIGURES), *LISTS, *OTHERS]))


@pytest.mark.parametrize(("output", "kind", "least", "most"), [*FIGURES, *RANKED])
def test_a_figure_knows_its_kind_and_its_ends(
    output: str, kind: str, least: float | None, most: float | None
) -> None:
    [figure] = plan_of(output).figures
    assert (figure.kind, figure.least, figure.most) == (kind, least, most)


@pytest.mark.parametrize("outputs", VALUES)
def test_its_parts_are_moved_by_the_delta_that_is_charged(outputs: str) -> None:
    plan = plan_of(outputs)
    for figure in plan.figures:
        assert [plan.deltas[part.measure] for part in figure.parts] == [
            part.delta for part in figure.parts
        ]


@pytest.mark.parametrize("outputs", VALUES)
def test_exact_measures_give_the_value_of_the_engine(outputs: str) -> None:
    """Independent of the plan: DuckDB computes the same SELECT list over the same rows."""
    plan, rng = plan_of(outputs), random.Random(3)
    with with_rows([_row(rng) for _ in range(60)]) as made:
        exact = measure(made, plan.scan)
        wanted = made.execute(
            f"SELECT {outputs} FROM stays WHERE ward IN ('A', 'B', 'C') GROUP BY ward ORDER BY ward"
        ).fetchall()
    assert len(exact) == len(wanted) == 3
    for measures, values in zip(exact, wanted, strict=True):
        for figure, value in zip(plan.figures, values, strict=True):
            found = figure.value([measures[part.measure] for part in figure.parts])
            assert found is not None
            assert found == pytest.approx(float(value), rel=1e-9, abs=1e-9)
            assert figure.least is None or found >= figure.least
            assert figure.most is None or found <= figure.most


def test_the_rows_that_a_mean_leaves_out_are_counted_one_by_one() -> None:
    plan = plan_of("count(*), avg(cost)")
    total, _ = plan.figures
    rest = plan.measures[total.parts[2].measure]
    assert (total.kind, rest.delta, rest.unit) == ("total", 1, Fraction(1))


def _row(rng: random.Random) -> Row:
    """A row within the policy's bounds, so that no value is clamped; one of six is NULL."""

    def some(value: str) -> str | None:
        return None if rng.random() < 1 / 6 else value

    known = {
        "ward": rng.choice("ABC"),
        "urgent": some(rng.choice(("true", "false"))),
        "age": some(str(rng.randint(0, 120))),
        "cost": some(f"{rng.randint(0, 10**6) / 100:.2f}"),
        "paid": some(f"{rng.randint(-5005000, 5005000) / 10000:.4f}"),
    }
    return tuple(known.get(name) for name in STAYS)
