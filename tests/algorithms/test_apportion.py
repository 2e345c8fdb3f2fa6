"""Apportionment: the paper's formulas, and that no other split of the sum is cheaper."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probe_sql.algorithms.tslm import even_beta, paper_beta
from probe_sql.logic import And, Formula, Leaf, Or, minimise, occurrences

Q1, Q2, Q3 = (Leaf(i) for i in range(3))
BETAS = st.floats(1e-9, 0.49)


def total_epsilon(weights: Sequence[float], betas: Sequence[float], counts: Sequence[int]) -> float:
    """Epsilon when atom i is measured afresh `counts[i]` times: sum o_i w_i ln(1/(2 beta_i))."""
    return math.fsum(
        count * epsilon for count, epsilon in zip(counts, _epsilons(weights, betas), strict=True)
    )


def _epsilons(weights: Sequence[float], betas: Sequence[float]) -> list[float]:
    return [-w * math.log(2 * beta) for w, beta in zip(weights, betas, strict=True)]


def counts(formula: Formula) -> list[int]:
    return list(occurrences(formula).values())


def test_example_of_the_paper() -> None:
    """Example 4.1: b1 + b2 + b3 for T1, 2 b1 + b2 + b3 for the distributed T2."""
    weights = [0.3, 1.7, 0.4]
    compact = Or((Q1, And((Q2, Q3))))
    distributed = And((Or((Q1, Q2)), Or((Q1, Q3))))
    assert counts(compact) == [1, 1, 1]
    assert counts(distributed) == [2, 1, 1]
    b1, b2, b3 = paper_beta(0.05, weights, counts(compact))
    assert b1 + b2 + b3 == pytest.approx(0.05, rel=1e-12)
    c1, c2, c3 = paper_beta(0.05, weights, counts(distributed))
    assert 2 * c1 + c2 + c3 == pytest.approx(0.05, rel=1e-12)
    assert all(c < b for c, b in zip((c1, c2, c3), (b1, b2, b3), strict=True))
    assert counts(minimise(distributed).formula) == [1, 1, 1]
    assert total_epsilon(weights, [b1, b2, b3], [1, 1, 1]) < total_epsilon(
        weights, [c1, c2, c3], [2, 1, 1]
    )


def product_form(
    beta: float, deltas: Sequence[float], us: Sequence[float], o: Sequence[int]
) -> list[float]:
    """Eq. gen_beta_occ as its proof derives it: o_y Delta_y times the product of the other u."""
    n = len(us)

    def others(i: int) -> float:
        return math.prod(us[x] for x in range(n) if x != i)

    below = sum(o[y] * deltas[y] * others(y) for y in range(n))
    return [deltas[i] * beta * others(i) / below for i in range(n)]


def as_printed(
    beta: float, deltas: Sequence[float], us: Sequence[float], o: Sequence[int]
) -> list[float]:
    """The same read literally: o_y Delta_y stands inside the product over x."""
    n = len(us)
    below = sum(math.prod(us[x] * o[y] * deltas[y] for x in range(n) if x != y) for y in range(n))
    return [
        deltas[i] * beta * math.prod(us[x] for x in range(n) if x != i) / below for i in range(n)
    ]


SIDES = st.integers(1, 8).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0.1, 50), min_size=n, max_size=n),
        st.lists(st.floats(0.1, 50), min_size=n, max_size=n),
        st.lists(st.integers(1, 4), min_size=n, max_size=n),
    )
)


@given(BETAS, SIDES)
def test_equal_to_the_product_form(
    beta: float, sides: tuple[list[float], list[float], list[int]]
) -> None:
    deltas, us, o = sides
    weights = [delta / u for delta, u in zip(deltas, us, strict=True)]
    found = paper_beta(beta, weights, o)
    assert found == pytest.approx(product_form(beta, deltas, us, o), rel=1e-9)
    if len(us) == 2:
        assert found == pytest.approx(as_printed(beta, deltas, us, o), rel=1e-9)


def test_the_printed_product_misplaces_its_factor() -> None:
    """Read literally with three atoms, the shares do not add up to beta: ours do."""
    literal = as_printed(0.05, [2.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1, 1, 1])
    assert sum(literal) != pytest.approx(0.05, rel=0.1)
    assert sum(paper_beta(0.05, [2.0, 1.0, 1.0], [1, 1, 1])) == pytest.approx(0.05)


def test_one_atom_gets_everything_and_equal_atoms_get_equal_shares() -> None:
    assert paper_beta(0.05, [7.0], [1]) == pytest.approx([0.05])
    assert paper_beta(0.05, [3.0] * 5, [1] * 5) == pytest.approx(even_beta(0.05, [1] * 5))
    assert even_beta(0.06, [2, 1]) == pytest.approx([0.02, 0.02])


def test_epsilon_of_the_mechanism() -> None:
    """Delta ln(1/(2 beta)) / u for each leaf (section 3.2)."""
    assert total_epsilon([1 / 30], [0.05], [1]) == pytest.approx(math.log(10) / 30)
    assert total_epsilon([2.0, 1.0], [0.01, 0.02], [2, 1]) == pytest.approx(
        4 * math.log(50) + math.log(25)
    )


@given(BETAS, SIDES, st.lists(st.floats(0.2, 5), min_size=8, max_size=8))
def test_no_other_split_of_the_sum_is_cheaper(
    beta: float, sides: tuple[list[float], list[float], list[int]], factors: list[float]
) -> None:
    deltas, us, o = sides
    weights = [delta / u for delta, u in zip(deltas, us, strict=True)]
    shares = paper_beta(beta, weights, o)
    moved = [share * factor for share, factor in zip(shares, factors, strict=False)]
    scale = beta / math.fsum(count * share for count, share in zip(o, moved, strict=True))
    other = [share * scale for share in moved]
    best = total_epsilon(weights, shares, o)
    assert total_epsilon(weights, other, o) >= best - 1e-9 * best


def test_ten_orders_of_magnitude_and_beyond() -> None:
    weights = [10.0**exponent for exponent in range(-300, 300, 40)]
    o = [1] * len(weights)
    shares = paper_beta(0.05, weights, o)
    assert math.fsum(shares) == pytest.approx(0.05)
    assert all(0 < share < 0.5 for share in shares)


def test_bounds_near_one_half_keep_every_share_below_it() -> None:
    for beta in (0.4999999, 0.5, 0.9):
        for shares in (paper_beta(beta, [1.0, 2.0, 3.0], [2, 2, 2]), even_beta(beta, [1])):
            assert all(0 < share < 0.5 for share in shares)
