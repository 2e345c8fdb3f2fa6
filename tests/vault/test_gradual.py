"""Gradual release: the formulas in exact fractions, the draws against the exact joint law."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from benchmarks.seeded import SeededWords
from probe_sql.errors import DataError
from probe_sql.measuring import Ints
from probe_sql.vault.gradual import NoiseState, Number, crossing_probability, refine
from probe_sql.vault.noise import NOISE_LIMIT, Sampler
from probe_sql.vault.randomness import SecureWords, WordArray
from tests.vault.goodness import chi_square, discrete_laplace_pmf, rejected

N = 200_000
BASES = [
    (Fraction(9, 10), Fraction(1, 2)),
    (Fraction(99, 100), Fraction(98, 100)),
    (Fraction(1, 3), Fraction(1, 1000)),
    (Fraction(7, 8), Fraction(1, 8)),
]


class NoWords:
    """Fails the test when a word is drawn."""

    def words(self, n: int) -> WordArray:
        raise AssertionError(f"{n} words were drawn")


def test_the_clamp_of_noise_is_the_widest_that_noise_can_be() -> None:
    ends = np.array([NOISE_LIMIT, NOISE_LIMIT - 1, -NOISE_LIMIT, 1 - NOISE_LIMIT])
    same = refine(Sampler(NoWords()), ends, 1.0, 1.0, 1)
    assert same.tolist() == [NOISE_LIMIT - 1, NOISE_LIMIT - 1, 1 - NOISE_LIMIT, 1 - NOISE_LIMIT]


def test_noise_remembers_its_level_and_forgets_itself() -> None:
    state = NoiseState(3)
    first, everyone = np.array([True, False, False]), np.ones(3, dtype=np.bool_)
    state.sharpen(Sampler(SeededWords(1)), 0.01, 1, everyone)
    state.sharpen(Sampler(SeededWords(2)), 0.02, 1, first)
    assert state.coarser(0.02, everyone).tolist() == [False, True, True]
    assert state.noise(np.arange(3)).all()
    state.close()
    assert state.noise(np.arange(3)).tolist() == [0, 0, 0]


def law(p: Fraction, v: int) -> Fraction:
    return (1 - p) / (1 + p) * p ** abs(v)


def stay_probability(coarse: Number, fine: Number) -> Number:
    """theta: the chance that the coarse noise equals the fine one; bases 0 < fine < coarse < 1."""
    ratio = (1 - coarse) / (1 - fine)
    return fine / coarse * ratio * ratio


def joint_by_coarsening(p1: Fraction, p2: Fraction, x: int, y: int) -> Fraction:
    """P(fine = y, coarse = x) when the coarse noise is the fine one plus B D."""
    theta = stay_probability(p1, p2)
    step = (1 - theta) * law(p1, x - y) + (theta if x == y else 0)
    return law(p2, y) * step


def refining_kernel(p1: Fraction, p2: Fraction, x: int, y: int) -> Fraction:
    """P(fine = y | coarse = x) along the branches that `refine` draws."""
    if x < 0:
        x, y = -x, -y
    a = crossing_probability(p1, p2)
    q, r = p1 * p2, p2 / p1
    if y < 0:
        return a * (1 - q) * q ** (-y - 1)
    if y < x:
        return (1 - a) * (1 - r) * r**y
    reached = (1 - a) * r**x
    beyond = a / (1 - a)
    if y == x:
        return reached * (1 - beyond)
    return reached * beyond * (1 - q) * q ** (y - x - 1)


@pytest.mark.parametrize(("p1", "p2"), BASES)
def test_refining_is_bayes_applied_to_coarsening(p1: Fraction, p2: Fraction) -> None:
    assert 0 < stay_probability(p1, p2) < 1
    a = crossing_probability(p1, p2)
    assert 0 < a < a / (1 - a) < 1
    for x in range(-12, 13):
        for y in range(-12, 13):
            refined = law(p1, x) * refining_kernel(p1, p2, x, y)
            assert refined == joint_by_coarsening(p1, p2, x, y)


@pytest.mark.parametrize("rate1", ["0.03", "0.4", "2"])
@pytest.mark.parametrize("factor", ["1.001", "1.15", "3"])
def test_the_coarse_noise_is_discrete_laplace_by_convolution(rate1: str, factor: str) -> None:
    with localcontext(prec=60):
        p1 = (-Decimal(rate1)).exp()
        p2 = (-Decimal(rate1) * Decimal(factor)).exp()
        theta = stay_probability(p1, p2)
        reach = math.ceil(90 / float(rate1))
        c1, c2 = (1 - p1) / (1 + p1), (1 - p2) / (1 + p2)
        power1, power2 = ([p**k for k in range(reach + 11)] for p in (p1, p2))
        for x in (0, 1, 2, 10):
            blurred = sum(
                (c2 * power2[abs(y)] * c1 * power1[abs(x - y)] for y in range(-reach, reach + 1)),
                Decimal(0),
            )
            total = theta * c2 * power2[x] + (1 - theta) * blurred
            assert abs(total - c1 * power1[x]) < Decimal("1e-35")


def joint_rejected(coarse: Ints, fine: Ints, e1: float, e2: float, delta: int) -> bool:
    """Chi-square of the pair over a square of cells, everything outside being one cell."""
    p1, p2 = (Fraction(math.exp(-e / delta)) for e in (e1, e2))
    edge = 12
    side = 2 * edge + 1
    cell = (coarse + edge) * side + fine + edge
    outside = (np.abs(coarse) > edge) | (np.abs(fine) > edge)
    cell[outside] = side * side
    table = [
        float(joint_by_coarsening(p1, p2, x, y))
        for x in range(-edge, edge + 1)
        for y in range(-edge, edge + 1)
    ]
    return rejected(*chi_square(cell, lambda c: table[c] if c >= 0 else 0.0, 0, side * side - 1))


@pytest.mark.parametrize(("e1", "e2", "delta"), [(0.5, 0.9, 1), (0.3, 3.0, 1), (2.0, 2.3, 7)])
def test_refining_draws_the_exact_pair(e1: float, e2: float, delta: int) -> None:
    sampler = Sampler(SeededWords(11))
    coarse = sampler.discrete_laplace(N, e1, delta)
    fine = refine(sampler, coarse, e1, e2, delta)
    assert not joint_rejected(coarse, fine, e1, e2, delta)
    for values, epsilon in ((coarse, e1), (fine, e2)):
        pmf = discrete_laplace_pmf(math.exp(-epsilon / delta))
        assert not rejected(*chi_square(values, pmf, -40, 40))


def test_independent_or_misplaced_levels_are_rejected() -> None:
    e1, e2 = 0.5, 0.9
    sampler = Sampler(SeededWords(12))
    coarse, fine = (sampler.discrete_laplace(N, e, 1) for e in (e1, e2))
    assert joint_rejected(coarse, fine, e1, e2, 1)
    always = fine + sampler.discrete_laplace(N, e1, 1)
    assert joint_rejected(always, fine, e1, e2, 1)
    assert joint_rejected(coarse, refine(sampler, coarse, e1, 0.7 * e2, 1), e1, e2, 1)
    mirrored = -refine(sampler, coarse, e1, e2, 1)
    assert joint_rejected(coarse, mirrored, e1, e2, 1)


@pytest.mark.parametrize("step", [1.15, 1.001])
def test_a_long_chain_of_refinements_keeps_the_law(step: float) -> None:
    sampler = Sampler(SeededWords(13))
    epsilons = [0.05 * step**level for level in range(12)]
    value = sampler.discrete_laplace(N, epsilons[0], 1)
    for before, after in pairwise(epsilons):
        value = refine(sampler, value, before, after, 1)
    pmf = discrete_laplace_pmf(math.exp(-epsilons[-1]))
    assert not rejected(*chi_square(value, pmf, -100, 100))


def test_equal_levels_change_nothing_and_draw_nothing() -> None:
    values = np.array([3, -4, 0], dtype=np.int64)
    assert refine(Sampler(NoWords()), values, 0.5, 0.5, 2).tolist() == [3, -4, 0]


@pytest.mark.parametrize(
    ("e1", "e2", "delta"),
    [(1.0, 0.5, 1), (0.0, 1.0, 1), (1e-12, 1.0, 2**50), (1.0, float("inf"), 1), (0.5, 1.0, 0)],
)
def test_bad_levels_are_refused_before_a_word_is_drawn(e1: float, e2: float, delta: int) -> None:
    with pytest.raises(DataError):
        refine(Sampler(NoWords()), np.zeros(3, dtype=np.int64), e1, e2, delta)


def test_levels_too_close_to_refine_are_refused_before_a_word_is_drawn() -> None:
    close = Fraction(1) + Fraction(1, 10**18)
    with pytest.raises(DataError, match="fit"):
        refine(Sampler(NoWords()), np.zeros(3, dtype=np.int64), 1, close, 1)


def test_extreme_noise_stays_within_the_limit() -> None:
    edge = NOISE_LIMIT - 1
    values = np.array([edge, -edge, 2**63 - 1, -(2**63)] * 50, dtype=np.int64)
    moved = refine(Sampler(SecureWords()), values, Fraction(1, 10**3), Fraction(2, 10**3), 10**12)
    assert np.all(np.abs(moved) <= edge)


def test_no_value_is_an_empty_array() -> None:
    assert refine(Sampler(SecureWords()), np.zeros(0, dtype=np.int64), 1, 2, 1).shape == (0,)
