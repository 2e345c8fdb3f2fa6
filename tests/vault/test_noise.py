"""The noise as drawn: fit to the exact law, wrong samplers rejected, OpenDP, fork."""

from __future__ import annotations

import math
import os
from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.seeded import SeededWords
from probe_sql.measuring import Ints
from probe_sql.vault.noise import Sampler, exact_rate
from probe_sql.vault.randomness import SecureWords, Words
from tests.vault.goodness import (
    chi_square,
    discrete_laplace_cdf,
    discrete_laplace_pmf,
    massart_bound,
    rejected,
    two_sample_distance,
)

N = 200_000


def window(scale: float) -> int:
    return math.ceil(6 * scale)


def fits(values: Ints, scale: float) -> bool:
    """Whether the values pass as discrete Laplace of this scale, delta/epsilon."""
    edge = window(scale)
    pmf = discrete_laplace_pmf(math.exp(-1 / scale))
    return not rejected(*chi_square(values, pmf, -edge, edge))


def shrunk(sampler: Sampler, n: int, epsilon: float, delta: int) -> Ints:
    """A wrong sampler: noise 30 % too small."""
    return sampler.discrete_laplace(n, epsilon / 0.7, delta)


def double_zero(sampler: Sampler, n: int, epsilon: float, delta: int) -> Ints:
    """A wrong sampler: a geometric size and a sign, so that zero comes up twice as +0 and -0."""
    size = sampler.geometric_at(n, *exact_rate(epsilon, delta))
    negative = sampler.geometric_at(n, *exact_rate(1e-9, 1)) % 2 == 1
    return np.where(negative, -size, size)


def dead_digit(sampler: Sampler, n: int, epsilon: float, delta: int) -> Ints:
    """A wrong sampler: in one of the geometric values the digit that weighs most is lost."""
    lost = 1 << int(math.log2(delta / epsilon))
    one, two = (sampler.geometric_at(n, *exact_rate(epsilon, delta)) for _ in range(2))
    return (one & ~lost) - two


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("epsilon", "delta"), [(4.0, 1), (1.0, 1), (0.25, 1), (1.0, 37), (0.1, 9)])
def test_noise_fits_its_law(epsilon: float, delta: int, seed: int) -> None:
    values = Sampler(SeededWords(seed)).discrete_laplace(N, epsilon, delta)
    assert fits(values, delta / epsilon)


@pytest.mark.parametrize("wrong", [shrunk, double_zero, dead_digit])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1), (0.25, 1), (1.0, 37)])
def test_wrong_noise_is_rejected(
    wrong: Callable[[Sampler, int, float, int], Ints], epsilon: float, delta: int
) -> None:
    assert not fits(wrong(Sampler(SeededWords(1)), N, epsilon, delta), delta / epsilon)


@pytest.mark.parametrize("scale", [10**3, 10**6, 10**12])
def test_wide_noise_fits_its_distribution_function(scale: int) -> None:
    values = np.sort(Sampler(SeededWords(4)).discrete_laplace(N, 1, scale))
    steps = np.arange(1, N + 1) / N
    bound = massart_bound(N, 1e-9)
    right = discrete_laplace_cdf(math.exp(-1 / scale), values)
    wrong = discrete_laplace_cdf(math.exp(-1 / (0.7 * scale)), values)
    assert np.max(np.abs(right - steps)) < bound
    assert np.max(np.abs(wrong - steps)) > 5 * bound


def test_neighbouring_values_and_calls_are_uncorrelated() -> None:
    sampler = Sampler(SeededWords(8))
    one, two = (sampler.discrete_laplace(N, 1, 5).astype(np.float64) for _ in range(2))
    for left, right in [(one[:-1], one[1:]), (one, two), (one[: N // 2], one[N // 2 :])]:
        correlation = float(np.corrcoef(left, right)[0, 1])
        assert abs(correlation) < 6 / math.sqrt(len(left))


def test_geometric_values_fit_their_law() -> None:
    p = math.exp(-1 / 20)
    values = Sampler(SeededWords(6)).geometric_at(N, *exact_rate(1, 20))
    statistic, freedom = chi_square(values, lambda g: (1 - p) * p**g if g >= 0 else 0.0, 0, 120)
    assert not rejected(statistic, freedom)


def opendp_laplace(scale: float, n: int) -> Ints:
    dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed")
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    return np.array(dp.m.make_laplace(*space, scale=scale)([0] * n), dtype=np.int64)


@pytest.mark.parametrize("scale", [2, 50])
def test_opendp_agrees_and_tells_wrong_noise_apart(scale: int) -> None:
    oracle_n = 20_000
    oracle = opendp_laplace(float(scale), oracle_n)
    sampler = Sampler(SecureWords())
    # Neither source is seeded: each side strays further than this once in 10^9 runs.
    bound = massart_bound(oracle_n, 1e-9) + massart_bound(N, 1e-9)
    ours = sampler.discrete_laplace(N, 1, scale)
    assert two_sample_distance(ours, oracle) < bound
    assert two_sample_distance(shrunk(sampler, N, 1, scale), oracle) > bound
    if scale == 2:
        assert two_sample_distance(double_zero(sampler, N, 1, scale), oracle) > bound


def noise_after_fork(words: Words) -> tuple[bytes, bytes]:
    """The noise that a parent and its forked child draw next from one sampler."""
    sampler = Sampler(words)
    sampler.discrete_laplace(10, 1, 1000)
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(writable, sampler.discrete_laplace(100, 1, 1000).tobytes())
        finally:
            os._exit(0)
    os.close(writable)
    ours = sampler.discrete_laplace(100, 1, 1000).tobytes()
    with os.fdopen(readable, "rb") as pipe:
        theirs = pipe.read()
    os.waitpid(child, 0)
    return ours, theirs


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_parent_and_child_draw_different_noise() -> None:
    ours, theirs = noise_after_fork(SecureWords())
    assert len(ours) == len(theirs) == 800
    assert ours != theirs
    same, again = noise_after_fork(SeededWords(1))
    assert same == again, "the test would notice shared words"


def test_secure_words_never_repeat() -> None:
    words = np.concatenate([SecureWords().words(1000), SecureWords().words(1000)])
    assert words.dtype == np.uint64
    assert len(np.unique(words)) == 2000


@pytest.mark.slow
def test_many_values_fit_and_one_percent_less_noise_is_rejected() -> None:
    sampler = Sampler(SeededWords(21))
    assert fits(sampler.discrete_laplace(5_000_000, 1, 37), 37)
    assert not fits(sampler.discrete_laplace(5_000_000, 1 / 0.99, 37), 37)
