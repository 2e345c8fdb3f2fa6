"""Min-entropy against its definition, by trying every vertex."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql.algorithms.entropy import min_entropy, relaxed_min_entropy
from probe_sql.measuring import Floats


def _entropy(p: Floats) -> float:
    kept = p[p > 0]
    return float(-(kept * np.log(kept)).sum())


def _by_enumeration(losses: Floats) -> float:
    """Least entropy over all vertices of the box cut by the simplex."""
    low = np.exp(-losses) / np.exp(losses).sum()
    high = np.minimum(1, np.exp(losses) / np.exp(-losses).sum())
    best = math.inf
    for inner in range(losses.size):
        for up in itertools.product((False, True), repeat=losses.size):
            p = np.where(up, high, low)
            p[inner] = 1 - (p.sum() - p[inner])
            if low[inner] - 1e-12 <= p[inner] <= high[inner] + 1e-12:
                best = min(best, _entropy(np.maximum(p, 0)))
    return best


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 3), min_size=2, max_size=6))
def test_exact_for_few_groups(losses: list[float]) -> None:
    values = np.array(losses)
    exact = _by_enumeration(values) / math.log(values.size)
    assert min_entropy(values) == pytest.approx(exact, abs=1e-4)
    assert min_entropy(values) <= exact + 1e-6
    assert relaxed_min_entropy(values) <= min_entropy(values) + 1e-9


def test_raising_the_largest_bounds_first_would_not_be_exact() -> None:
    losses = np.array([0.15, 1.49])
    low = np.exp(-losses) / np.exp(losses).sum()
    greedy = _entropy(np.array([low[0], 1 - low[0]]))
    assert min_entropy(losses) * math.log(2) < greedy - 0.2


@given(st.integers(2, 500), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_no_distribution_within_the_bounds_has_less(k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    losses = rng.choice(rng.random(3), k)
    low = np.exp(-losses) / np.exp(losses).sum()
    high = np.exp(losses) / np.exp(-losses).sum()
    p, left = low.copy(), 1 - low.sum()
    for group in rng.permutation(k):
        step = min(left, high[group] - low[group])
        p[group] += step
        left -= step
    assert min_entropy(losses) * math.log(k) <= _entropy(p) + 1e-6


def test_ends_of_the_scale() -> None:
    assert min_entropy(np.zeros(476)) == pytest.approx(1)
    assert min_entropy(np.full(3, 500.0)) == pytest.approx(0, abs=1e-6)
    assert min_entropy(np.array([900.0, 0.0, 1e6])) >= 0
    assert min_entropy(np.ones(1)) == relaxed_min_entropy(np.ones(1)) == 1


def test_more_loss_means_less_entropy() -> None:
    ladder = [min_entropy(np.full(476, loss)) for loss in (0.0, 0.1, 0.5, 1.0, 3.0)]
    assert ladder == sorted(ladder, reverse=True)
