"""What values need so that a result keeps its margin: tried at the ends and inside of theirs."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from fractions import Fraction

import pytest

from probe_sql.algorithms.relative import Share
from probe_sql.measuring import Figure, Part
from probe_sql.plan.tolerances import may_divide_by_zero, needs
from probe_sql.sql.around import Around, Derivation, Fixed, Known, OutputValue, derived
from probe_sql.text import inside

A, B, COUNT, PUBLIC = (OutputValue(number) for number in (0, 1, 2, 3))
PARTS = (Part(0, 10, Fraction(1)), Part(1, 10, Fraction(1)))


def mean(output: int, low: int, high: int) -> Figure:
    ends = {"low": Fraction(low), "width": Fraction(high - low), "least": low, "most": high}
    return Figure(f"v{output}", output, "mean", PARTS, **ends)  # type: ignore[arg-type]


FIGURES = {
    0: mean(0, 2, 30),
    1: mean(1, 0, 9),
    2: Figure("n", 2, "amount", (Part(2, 1, Fraction(1)),), least=0),
}
SIGNED = {**FIGURES, 0: mean(0, -20, 30)}


def of(name: str, *arguments: Derivation | float, digits: int = 0) -> Around:
    nodes = tuple(Fixed(one) if isinstance(one, int | float) else one for one in arguments)
    return Around(name, nodes, digits)


ABSOLUTE = {
    "sum": of("+", A, of("+", B, of("*", 3, COUNT))),
    "difference": of("-", of("/", A, 4), B),
    "product": of("*", A, B),
    "square": of("*", A, A),
    "quotient": of("/", B, A),
    "inverse": of("/", 7, A),
    "root": of("sqrt", COUNT),
    "root of a mean": of("sqrt", A),
    "root of a product": of("sqrt", of("*", A, B)),
    "logarithm": of("ln", A),
    "power": of("exp", of("/", B, 3)),
    "rounded": of("round", of("*", A, 10), digits=0),
    "tens": of("round", COUNT, digits=-1),
    "floor": of("floor", of("+", A, B)),
    "tenths": of("round", A, digits=1),
    "size": of("abs", of("-", A, 15)),
    "larger": of("greatest", A, of("*", 2, B)),
    "first": of("coalesce", A, 0),
    "but for 4": of("nullif", A, 4),
    "beside public": of("+", A, PUBLIC),
}
SHARES = {
    "product": of("*", A, B),
    "square": of("*", A, of("*", A, A)),
    "quotient": of("/", A, COUNT),
    "inverse": of("/", 7, A),
    "both": of("/", of("*", A, B), of("*", COUNT, COUNT)),
    "sum": of("+", A, of("+", B, 5)),
    "root": of("sqrt", of("*", A, COUNT)),
    "size": of("abs", A),
    "larger": of("greatest", A, B),
    "less nothing": of("-", A, -3),
    "per public": of("/", COUNT, PUBLIC),
}


def exact(tree: Derivation, values: Mapping[int, float]) -> float | None:
    known = [Known(values[number], None) for number in range(4)]
    found = derived(tree, known).value
    return None if found is None else float(found)


def furthest(
    tree: Derivation,
    widths: Callable[[int, float], float],
    figures: Mapping[int, Figure],
    seed: int,
) -> list[tuple[float, float]]:
    """Exact results, and what they come out as while each value is as far off as it may be."""
    chance, found = random.Random(seed), []
    for _ in range(3_000):
        true, noisy = {3: 2.5}, {3: 2.5}
        for output, figure in figures.items():
            low, high = float(figure.least or 0), float(figure.most or 60)
            at = chance.choice([low, high, chance.uniform(low, high)])
            at = round(at) if output == 2 else at
            width = widths(output, at)
            off = chance.choice([-width, width, chance.uniform(-width, width)])
            off = math.trunc(off) if output == 2 else off
            true[output] = at
            noisy[output] = min(max(at + off, low), math.inf if figure.most is None else high)
        before, after = exact(tree, true), exact(tree, noisy)
        if before is not None and after is not None:
            found.append((before, after))
    return found


@pytest.mark.parametrize("margin", [0.37, 2.0, 25.0])
@pytest.mark.parametrize("name", ABSOLUTE)
def test_a_result_is_no_further_off_than_asked(name: str, margin: float) -> None:
    tree = ABSOLUTE[name]
    found = needs(tree, margin, FIGURES)
    assert found is not None
    if found.before:
        assert name in ("rounded", "tens", "floor")
        assert margin < (10 if name == "tens" else 1)
        return
    pairs = furthest(tree, lambda output, _: float(found.margins.get(output, 0)), FIGURES, 1)
    assert len(pairs) > 1_000
    assert max(abs(after - before) for before, after in pairs) <= margin * (1 + 1e-9)


@pytest.mark.parametrize("name", ["product", "sum", "difference"])
def test_twice_the_need_does_not_keep_the_margin(name: str) -> None:
    """The negative control: what is asked for is used up, by the worst values."""
    found = needs(ABSOLUTE[name], 2.0, FIGURES)
    assert found is not None
    double = {output: 2 * float(margin) for output, margin in found.margins.items()}
    pairs = furthest(ABSOLUTE[name], lambda output, _: double.get(output, 0), FIGURES, 2)
    assert max(abs(after - before) for before, after in pairs) > 2.0


@pytest.mark.parametrize("share", ["1%", "4%", "40%"])
@pytest.mark.parametrize("name", SHARES)
def test_a_share_of_the_result_is_no_more_than_asked(name: str, share: str) -> None:
    asked, found = Share.parse(share), needs(SHARES[name], share, FIGURES)
    assert asked is not None
    assert found is not None
    shares = {output: Share.parse(str(text)) for output, text in found.margins.items()}

    def width(output: int, at: float) -> float:
        one = shares.get(output)
        return 0.0 if one is None else one.share * abs(at)

    pairs = [pair for pair in furthest(SHARES[name], width, FIGURES, 3) if pair[0]]
    worst = max(abs(after - before) / abs(before) for before, after in pairs)
    assert worst <= asked.share * (1 + 1e-9)
    assert {one.rows for one in shares.values() if one is not None} == {20}


def test_each_factor_has_about_half_of_the_share() -> None:
    """What stood here before gave 4 % to each: 8 % of the product."""
    found = needs(of("*", A, B), "4%", FIGURES)
    assert found is not None
    assert found.margins == {0: "1.98039% or 20 rows", 1: "1.98039% or 20 rows"}
    alone = needs(of("/", COUNT, PUBLIC), "4%", FIGURES)
    assert alone is not None
    assert alone.margins == {2: "4% or 20 rows"}
    over = needs(of("/", A, B), "4%", FIGURES)
    assert over is not None
    assert over.margins == {0: "1.98039% or 20 rows", 1: "1.94193% or 20 rows"}


@pytest.mark.parametrize(
    ("tree", "margin"),
    [
        (of("*", A, COUNT), 5.0),  # the count may be of any size
        (of("/", A, B), 5.0),  # and b as small as any
        (of("*", A, PUBLIC), 5.0),
        (of("sqrt", of("-", A, B)), 5.0),
        (of("ln", B), 5.0),
        (of("exp", COUNT), 5.0),
        (of("nullif", A, B), 5.0),
        (of("-", A, B), "5%"),
        (of("+", A, PUBLIC), "5%"),
        (of("ln", A), "5%"),
        (of("exp", A), "5%"),
        (of("nullif", A, B), "5%"),
        (of("*", A, B), "0.01%"),  # a share is at least that, and each factor's would be less
    ],
)
def test_what_has_no_rule_has_no_margin(tree: Derivation, margin: float | str) -> None:
    assert needs(tree, margin, FIGURES) is None


def test_a_value_that_may_be_nothing_has_no_share() -> None:
    assert needs(of("*", A, B), "5%", FIGURES) is not None
    assert needs(of("*", A, B), "5%", SIGNED) is None
    assert needs(of("sqrt", A), 5.0, SIGNED) is None


def test_a_divisor_is_named_where_it_may_be_nothing() -> None:
    for tree, may in (
        (of("/", B, A), False),
        (of("/", A, B), True),
        (of("/", A, 3), False),
        (of("sqrt", of("/", 1, COUNT)), True),
        (of("/", 1, of("+", COUNT, 1)), False),
    ):
        assert may_divide_by_zero(tree, FIGURES) == may


def test_room_is_left_for_what_rounding_prints() -> None:
    found = needs(of("+", A, 1), 0.5, FIGURES)
    assert found is not None
    assert found.margins == {0: inside(0.5)}
    whole = needs(of("round", A, digits=-1), 20.0, FIGURES)
    assert whole is not None
    assert whole.margins[0] == pytest.approx(20)
