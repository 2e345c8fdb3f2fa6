"""Exact discrete Laplace noise on integers, vectorised, from uniform random words.

A geometric variable has independent binary digits, so a value is a handful of biased
coins; a discrete Laplace value is the difference of two geometric ones. Every coin
compares a uniform binary fraction, read only as far as needed, with a threshold that is
computed in advance from public numbers. `docs/proofs/noise.md` has the proofs.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from probe_sql.measuring import Ints, Mask
from probe_sql.vault import refusals
from probe_sql.vault.memory import Scratch
from probe_sql.vault.randomness import Words

Epsilon = int | float | Fraction
Part = slice | Ints  # groups by their places, which may all follow on each other

NOISE_BITS = 62
NOISE_LIMIT = 2**NOISE_BITS
"""Noise lies strictly between -NOISE_LIMIT and NOISE_LIMIT; sums saturate at them."""

MAX_EPSILON = 1024
TAIL = 256
_HALVINGS = 24  # of a number up to 1 before the series: fewer make that longer
_PART = 1 << 16  # groups whose noise is drawn and added at once
_BLOCK = 1 << 18  # coins tossed at once: a block of them stays in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Coins:
    """Probabilities as binary fractions: a first byte each, then further 64-bit words.

    Coin i shows 1 with probability `(first[i] + sum_j rest[j, i] / 2^(64 (j+1))) / 256`.
    """

    first: NDArray[np.uint8]  # shape (count, 1)
    rest: NDArray[np.uint64]  # shape (further words, count)

    @property
    def count(self) -> int:
        return len(self.first)


def further_words(loss: Fraction) -> int:
    """Number of 64-bit words after the first byte, so that rounding is below e^-loss 2^-392."""
    return -(-(384 + 3 * math.ceil(loss) // 2 + 1) // 64)


def precision(loss: Fraction) -> Context:
    """A decimal context in which thresholds for `loss` come out far below their last bit."""
    bits = 8 + 64 * further_words(loss)
    return Context(prec=3 * bits // 10 + 110)


def coins(probabilities: Sequence[Decimal], loss: Fraction) -> Coins:
    """Round probabilities in [0, 1] down to binary fractions fine enough for `loss`."""
    words = further_words(loss)
    bits = 8 + 64 * words
    with localcontext(precision(loss)):
        scale, most = Decimal(1 << bits), (1 << bits) - 1
        scaled = [min(int(q * scale), most) for q in probabilities]
    last = (1 << 64) - 1
    first = [[whole >> (bits - 8)] for whole in scaled]
    rest = [[whole >> (64 * j) & last for whole in scaled] for j in reversed(range(words))]
    return Coins(
        np.array(first, dtype=np.uint8).reshape(len(scaled), 1),
        np.array(rest, dtype=np.uint64).reshape(words, len(scaled)),
    )


@lru_cache(maxsize=1024, typed=True)
def exact_rate(epsilon: Epsilon, delta: int) -> tuple[Fraction, Fraction]:
    """(epsilon/delta, epsilon) as exact rationals, or `DataError`; uses public numbers only."""
    finite = not isinstance(epsilon, float) or math.isfinite(epsilon)
    loss = Fraction(epsilon) if finite else Fraction(0)
    if not 0 < loss <= MAX_EPSILON:
        raise refusals.BAD_EPSILON.error(most=MAX_EPSILON)
    whole = operator.index(delta)
    if whole < 1:
        raise refusals.BAD_SENSITIVITY.error()
    return loss / whole, loss


@lru_cache(maxsize=1024)
def digits_needed(rate: Fraction, loss: Fraction) -> int:
    """The least D with exp(-rate 2^D) <= e^-(TAIL + loss); `DataError` beyond NOISE_BITS."""
    reach = math.ceil((TAIL + math.ceil(loss)) / rate)
    digits = (reach - 1).bit_length()
    if digits > NOISE_BITS:
        raise refusals.TOO_WIDE.error(scale=NOISE_LIMIT / (TAIL + math.ceil(loss)))
    return digits


@lru_cache(maxsize=1024)
def geometric_coins(rate: Fraction, loss: Fraction) -> Coins:
    """The digits of Geom(exp(-rate)) as coins: digit i is 1 with 1/(1 + exp(2^i rate)).

    `loss` is the epsilon charged for the value that the draw becomes part of; it sets only
    how far the omitted digits and the rounding lie below it.
    """
    return digit_coins(growth(rate, precision(loss).prec), digits_needed(rate, loss), loss)


@lru_cache(maxsize=1024)
def growth(rate: Fraction, digits: int) -> Decimal:
    """e^rate to so many digits: Taylor's series in integers, a quarter of the time of decimal's."""
    halvings = math.ceil(rate).bit_length() + _HALVINGS
    bits = 10 * digits // 3 + halvings + 32
    small = (rate.numerator << bits) // (rate.denominator << halvings)
    term = total = 1 << bits
    step = 0
    while term:
        step += 1
        term = (term * small >> bits) // step
        total += term
    for _ in range(halvings):
        total = total * total >> bits
    with localcontext(Context(prec=digits)):
        return Decimal(total) / (1 << bits)


def digit_coins(odds: Decimal, digits: int, loss: Fraction) -> Coins:
    """So many digits of Geom(1/odds) as coins."""
    probabilities = []
    with localcontext(precision(loss)):
        for _ in range(digits):
            probabilities.append(1 / (1 + odds))
            odds *= odds
    return coins(probabilities, loss)


def check_parameters(epsilon: Epsilon, delta: int) -> None:
    """Raise `DataError` exactly when `discrete_laplace` would; draws nothing."""
    digits_needed(*exact_rate(epsilon, delta))


class Sampler:
    """Draws exact integer noise from the words it is given.

    Privacy: every method's values differ from the stated law by at most e^-loss 2^-360 in
    total variation each, given uniform words (docs/proofs/noise.md, Theorem 3). Parameters
    that cannot be met are refused before a word is read, from public numbers alone.
    """

    __slots__ = ("_words",)

    def __init__(self, words: Words) -> None:
        self._words = words

    def discrete_laplace(self, n: int, epsilon: Epsilon, delta: int) -> Ints:
        """`n` independent values v with probability (1-p)/(1+p) p^|v|, p = exp(-epsilon/delta).

        Privacy: added to an integer that one row changes by at most `delta`, a value is
        epsilon-differentially private, up to an additive 2^-359.
        Utility: P(V <= -s) = p^s / (1+p) for every integer s >= 1.
        Paper: replaces the continuous Laplace noise of section 3.2.
        """
        with Scratch() as scratch:
            coin = geometric_coins(*exact_rate(epsilon, delta))
            both = scratch.keep(self.geometric(2 * n, coin))
            return both[:n] - both[n:]

    def geometric_at(self, n: int, rate: Fraction, loss: Fraction) -> Ints:
        """`n` independent values g >= 0 with probability (1-p) p^g, p = exp(-rate).

        `loss`: the epsilon that is charged for them, which decides the precision.
        """
        return self.geometric(n, geometric_coins(rate, loss))

    def bernoulli(self, n: int, coin: Coins) -> Mask:
        """`n` independent tosses of the one coin given."""
        out = np.zeros(n, dtype=np.bool_)
        for start in range(0, n, _BLOCK):
            part = out[start : start + _BLOCK]
            part[:] = self._toss(len(part), coin)[0]
        return out

    def uniform(self, n: int, words: int) -> NDArray[np.uint64]:
        """`n` rows of uniform 64-bit words."""
        return self._words.words(n * words).reshape(n, words).copy()

    def below(self, total: int) -> int:
        """An integer from 0 to below `total`, each equally likely up to 2^-384 in all."""
        words = -(-(total.bit_length() + 384) // 64)
        drawn = int.from_bytes(self._words.words(words).tobytes(), "little")
        return drawn * total >> (64 * words)

    def geometric(self, n: int, digits: Coins) -> Ints:
        """`n` independent values whose binary digits are these coins (`geometric_coins`)."""
        out = np.zeros(n, dtype=np.int64)
        if digits.count == 0:
            return out
        step = max(1, _BLOCK // digits.count)
        try:
            for start in range(0, n, step):
                part = out[start : start + step]
                _from_digits(self._toss(len(part), digits), part)
        except BaseException:
            out.fill(0)
            raise
        return out

    def _toss(self, n: int, coin: Coins) -> Mask:
        """Toss each coin n times, shape (count, n): one byte a toss, and more only on a tie."""
        tosses = coin.count * n
        lanes = self._words.words(-(-tosses // 8)).view(np.uint8)[:tosses]
        lanes = lanes.reshape(coin.count, n)
        shown = lanes < coin.first
        tied = (lanes == coin.first).reshape(-1).nonzero()[0]
        flat = shown.reshape(-1)
        for threshold in coin.rest:
            if len(tied) == 0:
                break
            word = self._words.words(len(tied))
            bar = threshold[tied // n]
            flat[tied] = word < bar
            tied = tied[word == bar]
        return shown


def _from_digits(shown: Mask, out: Ints) -> None:
    """Read column j of `shown`, which is used up, as a binary number, least digit first."""
    count, n = shown.shape
    bits = np.left_shift(1, np.arange(count) % 8).astype(np.uint8)
    with Scratch() as scratch:
        weighted = scratch.keep(shown.view(np.uint8))
        weighted *= bits[:, np.newaxis]
        octets = scratch.keep(np.zeros((n, 8), dtype=np.uint8))
        for low in range(0, count, 8):
            np.bitwise_or.reduce(weighted[low : low + 8], axis=0, out=octets[:, low // 8])
        out[:] = octets.view("<i8").reshape(n)


def add_noise(exact: Ints, noise: Ints) -> Ints:
    """The integer sums exact + noise, saturated at +-2^62, never wrapped around.

    Privacy: the sum is formed over the integers and clamped afterwards, which is
    post-processing. Clamping the noise before adding would not be. Both arguments are used
    up: they hold zeros afterwards, however this ends.
    """
    with Scratch() as scratch:
        scratch.keep(exact)
        scratch.keep(noise)
        total: Ints = exact + noise
        # A sum has wrapped where its sign is that of neither operand; then it is the opposite.
        exact ^= total
        noise ^= total
        exact &= noise
        wrapped = exact < 0
        low = total < 0
        np.clip(total, -NOISE_LIMIT, NOISE_LIMIT, out=total)
        total[wrapped & low] = NOISE_LIMIT
        total[wrapped & ~low] = -NOISE_LIMIT
        return total


def blurred(values: Ints, asked: Ints, noise: Callable[[Part], Ints], scratch: Scratch) -> Ints:
    """`values` plus noise for the groups asked for; 0 for others.

    `noise` makes that of some of them, which is used up.
    """
    noisy = np.zeros(len(values), dtype=np.int64)
    held = scratch.integers(min(len(asked), _PART))
    for at in parts(asked):
        exact = held[: many(at)]
        if isinstance(at, slice):
            exact[:] = values[at]
        else:
            np.take(values, at, out=exact, mode="clip")  # any other mode makes a copy
        noisy[at] = add_noise(exact, noise(at))
    return noisy


def parts(groups: Ints) -> Iterator[Part]:
    """Groups, so many at once that what is computed of them stays in the processor's cache."""
    for start in range(0, len(groups), _PART):
        part = groups[start : start + _PART]
        first, last = int(part[0]), int(part[-1])
        yield slice(first, last + 1) if last - first == len(part) - 1 else part


def many(part: Part) -> int:
    """How many groups a part has."""
    return part.stop - part.start if isinstance(part, slice) else len(part)
