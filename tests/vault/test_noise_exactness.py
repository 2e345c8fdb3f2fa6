"""The sampler's thresholds, digits, ties and limits against independent exact arithmetic."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import probe_sql.vault
from benchmarks.seeded import SeededWords
from probe_sql.errors import DataError
from probe_sql.vault.gradual import _step, crossing_probability
from probe_sql.vault.noise import (
    MAX_EPSILON,
    NOISE_LIMIT,
    TAIL,
    Coins,
    Epsilon,
    Sampler,
    add_noise,
    check_parameters,
    coins,
    digits_needed,
    exact_rate,
    further_words,
    geometric_coins,
    growth,
    precision,
)
from probe_sql.vault.randomness import SecureWords, WordArray
from tests.vault.goodness import reference_exp

PARAMETERS: Sequence[tuple[Epsilon, int]] = [
    (1, 1),
    (0.1, 1),
    (Fraction(1, 3), 7),
    (2.5, 100),
    (1e-12, 1),
    (1e-3, 2**40),
    (1.0, 2**50),
    (1000, 1),
    (1e3, 2**50),
]


class ScriptedWords:
    """Hands out the given words in order; counts what is asked for."""

    def __init__(self, script: Sequence[int]) -> None:
        self._script = np.array(script, dtype=np.uint64)
        self.requests: list[int] = []

    def words(self, n: int) -> WordArray:
        start = sum(self.requests)
        self.requests.append(n)
        assert start + n <= len(self._script), "more words read than scripted"
        return self._script[start : start + n]


class NoWords:
    """Fails the test when a word is drawn."""

    def words(self, n: int) -> WordArray:
        raise AssertionError(f"{n} words were drawn")


def as_fractions(coins: Coins) -> list[Fraction]:
    """The probabilities that the comparison of bytes and words realises."""
    found = []
    for i in range(coins.count):
        whole = int(coins.first[i, 0])
        for j in range(len(coins.rest)):
            whole = (whole << 64) + int(coins.rest[j, i])
        found.append(Fraction(whole, 1 << (8 + 64 * len(coins.rest))))
    return found


@pytest.mark.parametrize(("epsilon", "delta"), PARAMETERS)
def test_digit_probabilities_are_rounded_down_to_the_last_bit(epsilon: Epsilon, delta: int) -> None:
    rate, loss = exact_rate(epsilon, delta)
    found = as_fractions(geometric_coins(rate, loss))
    bits = 8 + 64 * further_words(loss)
    assert bits - 392 >= float(loss) / math.log(2)
    for i, probability in enumerate(found):
        exact = 1 / (1 + reference_exp(rate * 2**i, bits + 80))
        slack = Fraction(1, 1 << (bits + 60))
        assert -slack <= exact - probability <= Fraction(1, 1 << bits) + slack
        assert probability > 0


@given(
    st.fractions(min_value=Fraction(1, 2**60), max_value=1024, max_denominator=2**60),
    st.sampled_from([1, 43, 1024]),
)
def test_a_power_of_e_is_that_of_decimal(rate: Fraction, loss: int) -> None:
    """Off by 1.01 u at most, as the proof says: half a unit in the last place of P digits."""
    context = precision(Fraction(loss))
    with localcontext(Context(prec=context.prec + 20)):
        exact = (Decimal(rate.numerator) / Decimal(rate.denominator)).exp()
        error = abs(growth(rate, context.prec) / exact - 1)
        assert error <= Decimal(f"5.05e-{context.prec}")


@pytest.mark.parametrize(
    ("coarse", "fine", "delta"),
    [
        (0.1, 0.2, 1),
        (0.3, 0.4, 7),
        (2.5, 2.500001, 100),
        (1e-12, 2e-12, 1),
        (1000.0, 1000 + 1e-12, 1),  # odds within 10^-12 of 1, as a quotient of numbers like e^1000
        (1.0, 1000.0, 2**40),
    ],
)
def test_a_step_between_levels_has_the_digits_of_their_difference_and_sum(
    coarse: float, fine: float, delta: int
) -> None:
    """Right to the last bit, as those of one level are."""
    slow, _ = exact_rate(coarse, delta)
    fast, loss = exact_rate(fine, delta)
    step = _step(coarse, fine, delta)
    assert step is not None
    bits = 8 + 64 * further_words(loss)
    slack = Fraction(1, 1 << (bits + 60))
    for found, rate in ((step.below, fast - slow), (step.past, fast + slow)):
        assert found.count == digits_needed(rate, loss)
        for i, probability in enumerate(as_fractions(found)):
            exact = 1 / (1 + reference_exp(rate * 2**i, bits + 80))
            assert -slack <= exact - probability <= Fraction(1, 1 << bits) + slack
    low, high = (1 / reference_exp(rate, bits + 160) for rate in (slow, fast))
    cross = crossing_probability(low, high)
    for coin, exact in ((step.cross, cross), (step.beyond, cross / (1 - cross))):
        assert -slack <= exact - as_fractions(coin)[0] <= Fraction(1, 1 << bits) + slack


@pytest.mark.parametrize(("epsilon", "delta"), PARAMETERS)
def test_omitted_digits_are_below_the_stated_tail(epsilon: Epsilon, delta: int) -> None:
    rate, loss = exact_rate(epsilon, delta)
    digits = digits_needed(rate, loss)
    assert rate * 2**digits >= TAIL + loss
    assert digits == 0 or rate * 2 ** (digits - 1) < TAIL + loss + 1


@pytest.mark.parametrize(
    ("loss", "words"), [(0.01, 7), (42, 7), (42.01, 8), (84, 8), (85, 8), (86, 9), (1024, 31)]
)
def test_thresholds_have_as_many_words_as_the_bound_asks_for(loss: float, words: int) -> None:
    """64 words >= 384 + 3/2 loss + 1, the loss rounded up: golden, at the edges."""
    assert further_words(Fraction(loss)) == words


@pytest.mark.parametrize(
    ("rate", "loss", "digits"),
    [
        (Fraction(257, 256), 1, 8),
        (Fraction(257, 256) - Fraction(1, 10**9), 1, 9),
        (Fraction(257, 512), Fraction(1, 2), 9),
        (Fraction(900), 600, 0),
        (Fraction(856), 600, 0),
        (Fraction(855), 600, 1),
    ],
)
def test_as_many_digits_are_drawn_as_the_tail_asks_for(
    rate: Fraction, loss: Fraction, digits: int
) -> None:
    """The least D with 2^D rate >= 256 + loss, the loss rounded up: golden, at the edges."""
    assert digits_needed(rate, Fraction(loss)) == digits
    assert len(as_fractions(geometric_coins(rate, Fraction(loss)))) == digits


def test_a_coin_that_is_sure_shows_one_but_for_the_last_bit() -> None:
    """A probability of 1 has no binary fraction below 1: the largest one stands for it."""
    sure = coins([Decimal(1)], Fraction(1))
    assert sure.first.tolist() == [[255]]
    assert set(sure.rest.ravel().tolist()) == {2**64 - 1}


def test_noise_without_digits_is_zero() -> None:
    """Where an epsilon beyond 256 is refined, noise has no digit that could be 1."""
    drawn = Sampler(SeededWords(1)).geometric_at(3, Fraction(900), Fraction(600))
    assert drawn.tolist() == [0, 0, 0]


@pytest.mark.parametrize(("epsilon", "delta"), [(1, 1), (0.5, 3), (Fraction(1, 7), 2), (40, 1)])
def test_the_product_of_digits_is_the_geometric_law(epsilon: Epsilon, delta: int) -> None:
    rate, loss = exact_rate(epsilon, delta)
    found = as_fractions(geometric_coins(rate, loss))
    p = 1 / reference_exp(rate, 600)
    for g in [*range(40), 100, 200]:
        product = Fraction(1)
        for i, probability in enumerate(found):
            product *= probability if g >> i & 1 else 1 - probability
        if g >> len(found) == 0:
            assert abs(product - (1 - p) * p**g) < Fraction(1, 2**360)


def test_the_difference_of_two_geometric_values_is_discrete_laplace() -> None:
    p = Fraction(3, 5)
    for v in range(-6, 7):
        # sum over g2 of P(G1 = v + g2) P(G2 = g2): a geometric series in p^2
        first = max(0, -v)
        convolved = (1 - p) ** 2 * p ** (v + 2 * first) / (1 - p**2)
        assert convolved == (1 - p) / (1 + p) * p ** abs(v)


def test_every_first_byte_decides_as_the_threshold_says() -> None:
    coins = geometric_coins(Fraction(1), Fraction(1))
    one = Coins(coins.first[:1], coins.rest[:, :1])
    every_byte = np.arange(256, dtype=np.uint8).view(np.uint64)
    for tie_word, tie_shows in [(0, True), (2**64 - 1, False)]:
        words = ScriptedWords([*every_byte.tolist(), tie_word])
        shown = Sampler(words).bernoulli(256, one)
        assert words.requests == [32, 1]
        assert int(shown.sum()) == int(one.first[0, 0]) + tie_shows


@pytest.mark.parametrize("last", [-1, 0, 1])
@pytest.mark.parametrize("level", range(6))
def test_ties_are_broken_by_later_words(level: int, last: int) -> None:
    coins = geometric_coins(Fraction(1, 3), Fraction(1))
    one = Coins(coins.first[:1], coins.rest[:, :1])
    rest = [int(word) for word in one.rest[:, 0]]
    assert len(rest) >= 6
    tie = int(one.first[0, 0]) * 0x0101010101010101
    words = ScriptedWords([tie, *rest[:level], rest[level] + last, *rest[level + 1 :]])
    shown = Sampler(words).bernoulli(1, one)
    assert bool(shown[0]) == (last < 0)
    read = level + 1 if last else len(rest)
    assert words.requests == [1] * (1 + read)


def test_only_the_tied_tosses_change() -> None:
    coins = geometric_coins(Fraction(1, 50), Fraction(1))
    n = 4096
    stream = SeededWords(5).words(coins.count * n // 8)
    ties = int((stream.view(np.uint8).reshape(coins.count, n) == coins.first).sum())
    assert ties > 100
    low = ScriptedWords([*stream.tolist(), *[0] * (len(coins.rest) * ties)])
    high = ScriptedWords([*stream.tolist(), *[2**64 - 1] * ties])
    ones, zeros = (Sampler(w)._toss(n, coins) for w in (low, high))
    lanes = stream.view(np.uint8).reshape(coins.count, n)
    assert np.array_equal(ones, lanes <= coins.first)
    assert np.array_equal(zeros, lanes < coins.first)


def test_the_number_of_words_is_fixed_but_for_ties() -> None:
    coins = geometric_coins(Fraction(1, 100), Fraction(1))
    reachable = coins.first > 0
    all_ones = np.where(reachable, 0, 255)
    all_zeros = np.full_like(all_ones, 255)
    largest = sum(1 << i for i in range(coins.count) if reachable[i, 0])
    for column, value in [(all_ones, largest), (all_zeros, 0)]:
        lanes = np.repeat(column.astype(np.uint8), 16, axis=1)
        words = ScriptedWords(lanes.reshape(-1).view(np.uint64).tolist())
        assert Sampler(words).geometric_at(16, *exact_rate(1, 100)).tolist() == [value] * 16
        assert words.requests == [coins.count * 2]


def test_digits_are_read_in_their_places() -> None:
    coins = geometric_coins(Fraction(1, 2**40), Fraction(1))
    n = 1000
    shown = Sampler(SeededWords(3))._toss(n, coins)
    values = Sampler(SeededWords(3)).geometric_at(n, *exact_rate(1, 2**40))
    expected = [sum(1 << i for i in range(coins.count) if shown[i, j]) for j in range(n)]
    assert values.tolist() == expected


@pytest.mark.parametrize(("epsilon", "delta"), PARAMETERS)
def test_extreme_parameters_work_within_their_limits(epsilon: Epsilon, delta: int) -> None:
    check_parameters(epsilon, delta)
    values = Sampler(SecureWords()).discrete_laplace(200, epsilon, delta)
    assert values.dtype == np.int64
    assert np.all(np.abs(values) < NOISE_LIMIT)
    scale = delta / float(epsilon)
    assert float(np.abs(values).max()) < 40 * scale + 1
    if scale > 1:
        assert float(np.abs(values).max()) > scale


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (1e-12, 2**50),
        (1e-17, 1),
        (5e-324, 1),
        (Fraction(1, 10**400), 1),
        (1.0, 2**62),
        (1.0, 10**400),
        (0.0, 1),
        (-1.0, 1),
        (float("nan"), 1),
        (float("inf"), 1),
        (MAX_EPSILON + 1, 1),
        (10**400, 1),
        (1.0, 0),
        (1.0, -3),
    ],
)
def test_what_does_not_fit_is_refused_before_a_word_is_drawn(epsilon: Epsilon, delta: int) -> None:
    sampler = Sampler(NoWords())
    with pytest.raises(DataError, match=r"epsilon|fit|sensitivity"):
        check_parameters(epsilon, delta)
    with pytest.raises(DataError):
        sampler.discrete_laplace(1, epsilon, delta)
    with pytest.raises(DataError):
        sampler.geometric_at(1, *exact_rate(epsilon, delta))


def test_the_largest_scale_is_sharp() -> None:
    widest = NOISE_LIMIT // (TAIL + 1)
    values = Sampler(SecureWords()).discrete_laplace(1000, 1, widest)
    assert np.all(np.abs(values) < NOISE_LIMIT)
    assert float(np.abs(values).max()) > widest
    with pytest.raises(DataError, match="fit"):
        Sampler(NoWords()).discrete_laplace(1000, 1, widest + 1)


def test_no_value_is_an_empty_array() -> None:
    assert Sampler(SecureWords()).discrete_laplace(0, 1, 1).shape == (0,)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Sampler(SeededWords(1)).discrete_laplace(100_000, 1e-3, 1)
    assert len(np.unique(whole)) > 5_000
    monkeypatch.setattr("probe_sql.vault.noise._BLOCK", 1)
    tiny = Sampler(SeededWords(1)).discrete_laplace(50, 1e-3, 1)
    assert tiny.shape == (50,)
    assert len(np.unique(tiny)) > 40


@given(
    st.lists(
        st.tuples(st.integers(-(2**63), 2**63 - 1), st.integers(1 - NOISE_LIMIT, NOISE_LIMIT - 1)),
        min_size=1,
    )
)
def test_sums_saturate_and_never_wrap(pairs: list[tuple[int, int]]) -> None:
    exact = np.array([a for a, _ in pairs], dtype=np.int64)
    noise = np.array([b for _, b in pairs], dtype=np.int64)
    expected = [max(-NOISE_LIMIT, min(NOISE_LIMIT, a + b)) for a, b in pairs]
    assert add_noise(exact, noise).tolist() == expected


def test_sums_at_the_edges() -> None:
    edge = 2**63
    exact = np.array([edge - 1, -edge, edge - 1, -edge, NOISE_LIMIT, 7], dtype=np.int64)
    last = NOISE_LIMIT - 1
    noise = np.array([last, -last, -last, last, 1, -9], dtype=np.int64)
    limit = NOISE_LIMIT
    assert add_noise(exact, noise).tolist() == [limit, -limit, limit, -limit, limit, -2]


def test_the_package_never_imports_the_seeded_source() -> None:
    root = Path(probe_sql.__file__).parent
    importers = []
    for path in root.rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        if "benchmarks" not in source and "SeededWords" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                names = [node.value] if "\n" not in node.value else []
            else:
                continue
            if any("benchmarks" in name or "SeededWords" in name for name in names):
                importers.append(path.name)
    assert importers == []
    assert not hasattr(probe_sql.vault, "SeededWords")
