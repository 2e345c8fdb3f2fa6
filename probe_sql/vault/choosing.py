"""The exponential mechanism over the values of a ranking, in exact integers.

`docs/proofs/quantiles.md` has the proofs.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from operator import mul

import numpy as np

from probe_sql.measuring import FAR, Ints, Mask, Peel, Rank
from probe_sql.plan.tally import Tally
from probe_sql.vault.exact import Ranking
from probe_sql.vault.memory import Scratch
from probe_sql.vault.noise import Sampler, exact_rate, further_words, precision

_BASE = 1024
_GUARD = 128  # bits of tables beyond those of their products
_FIRST = 1 << 16
_FARTHEST = 1 << 62  # no rank is further off
_TAIL = 300  # beyond so many nats, and the loss, weights are nothing


def ranking(columns: Sequence[Ints], tally: Tally, groups: int) -> Ranking:
    """What a scan returned of a ranking, by group and value, each pair once.

    Privacy: values are moved into the planned bounds once more, and what is of no group is left
    out: a mistake of the scan costs accuracy, and fails for no row.
    """
    with Scratch() as scratch:
        inside = scratch.keep((columns[0] >= 0) & (columns[0] < groups) & (columns[2] > 0))
        group, value, rows = (scratch.keep(column[inside]) for column in columns)
        np.clip(value, tally.low, tally.high, out=value)
        order = scratch.keep(np.lexsort((value, group)))
        group, value, rows = (scratch.keep(part[order]) for part in (group, value, rows))
        first = np.ones(len(group), dtype=np.bool_)
        first[1:] = (group[1:] != group[:-1]) | (value[1:] != value[:-1])
        starts = scratch.keep(np.flatnonzero(first))
        if not len(starts):
            return group.copy(), value.copy(), rows.copy()
        return group[starts], value[starts], np.add.reduceat(rows, starts)


def choose(
    sampler: Sampler, found: Ranking, rank: Rank, beyond: int, epsilon: float, groups: Mask
) -> tuple[Ints, Ints]:
    """A value for each of `groups`, and how far off it is in parts of a row; 0 for others.

    Privacy: value v is chosen with probability proportional to exp(-epsilon d(v)/(2 delta)), up to
    e^-epsilon 2^-360 in total variation, d(v) being how far off it is: one row changes that by
    at most delta (docs/proofs/quantiles.md). What comes back second is exact, for the vault alone.
    """
    rate, loss = exact_rate(epsilon, 2 * rank.delta)
    powers = _powers(rate, loss)
    values, distances = (np.zeros(len(groups), dtype=np.int64) for _ in range(2))
    starts = np.searchsorted(found[0], np.arange(len(groups) + 1))
    for group in np.flatnonzero(groups).tolist():
        part = slice(starts[group], starts[group + 1])
        with Scratch() as scratch:
            runs = _segments(found[1][part], found[2][part], rank, beyond)
            low, size, off = (scratch.keep(each) for each in runs)
            values[group], distances[group] = _drawn(sampler, powers, low, size, off)
    return values, distances


def _segments(values: Ints, rows: Ints, rank: Rank, beyond: int) -> tuple[Ints, Ints, Ints]:
    """Runs of candidates that are equally far off: the first, how many, and how far.

    They are the values that occur, and the gaps before, between and after them.
    """
    count = len(values)
    low, size, below, above = (np.zeros(2 * count + 1, dtype=np.int64) for _ in range(4))
    up_to = np.concatenate(([0], np.cumsum(rows)))
    total = int(up_to[-1])
    low[1::2], size[1::2] = values, 1
    below[1::2], above[1::2] = up_to[:-1], total - up_to[1:]
    low[0::2] = np.concatenate(([rank.low], values + 1))
    size[0::2] = np.concatenate((values, [rank.high + 1])) - low[0::2]
    below[0::2], above[0::2] = up_to, total - up_to
    parts, top = rank.parts, rank.share.numerator
    off = np.maximum(
        parts * below - top * total + beyond, parts * above - (parts - top) * total - beyond
    )
    return low, size, np.maximum(off, 0)


def _drawn(sampler: Sampler, powers: _Powers, low: Ints, size: Ints, off: Ints) -> tuple[int, int]:
    """One candidate, with probability proportional to its power."""
    least = int(off[size > 0].min())
    near = np.flatnonzero((size > 0) & (off - least <= powers.reach))
    each = powers.of((off[near] - least).tolist())
    ends = list(accumulate(map(mul, size[near].tolist(), each)))
    target = sampler.below(ends[-1])
    run = bisect_right(ends, target)
    inside = target - (ends[run - 1] if run else 0)
    return int(low[near[run]]) + inside // each[run], int(off[near[run]])


def first_groups(
    sampler: Sampler, values: Ints, peel: Peel, rate: Fraction, loss: Fraction
) -> tuple[Mask, Ints]:
    """The groups whose values plus noise come first, and how far each is ahead of the next group.

    `loss` is what the choice costs; it sets only how exact the noise is.
    Privacy: docs/proofs/peeling.md, Theorem 1. Values are moved into +-FAR first, which brings no
    two databases further apart, so that no sum overflows. Ties are broken by uniform words, never
    by a group's index: who comes next must not decide whether a tie is won.
    """
    count = len(values)
    with Scratch() as scratch:
        scores = scratch.keep(np.clip(values, -FAR, FAR))
        if peel.largest:
            np.negative(scores, out=scores)
        both = scratch.keep(sampler.geometric_at(2 * count, rate, loss))
        scores += both[:count]
        scores -= both[count:]
        ties = scratch.keep(sampler.uniform(count, further_words(loss)))
        order = scratch.keep(np.lexsort((*ties.T, scores)))
        first, after = order[: peel.count], int(order[peel.count])
        chosen: Mask = np.zeros(count, dtype=np.bool_)
        ahead: Ints = np.zeros(count, dtype=np.int64)
        chosen[first] = True
        next_ties = ties[after][::-1].tolist()
        for group in first.tolist():
            lost = ties[group][::-1].tolist() > next_ties  # a part of a step less
            ahead[group] = int(scores[after]) - int(scores[group]) - lost
        return chosen, ahead


@dataclass(frozen=True, slots=True, eq=False)
class _Powers:
    """exp(-rate j) for j up to `reach`, in units of 2^-bits, each at most 5 of them too small.

    `digits[k][d]` is the power of d 1024^k, in units of 2^-(bits + _GUARD); `first` has those of
    small j. Their number is that of the digits of `reach`, however small the rate is.
    """

    bits: int
    reach: int
    digits: tuple[tuple[int, ...], ...]
    first: tuple[int, ...]

    def of(self, distances: Sequence[int]) -> list[int]:
        """The powers of all these."""
        first, count = self.first, len(self.first)
        return [first[j] if j < count else self.power(j) for j in distances]

    def power(self, j: int) -> int:
        """exp(-rate j), from a table for each digit of j."""
        return _power(self.digits, self.bits, j)


def _power(digits: Sequence[Sequence[int]], bits: int, j: int) -> int:
    found, position = 1 << bits + _GUARD, 0
    while j:
        j, digit = divmod(j, _BASE)
        if digit:
            found = found * digits[position][digit] >> bits + _GUARD
        position += 1
    return found >> _GUARD


@lru_cache(maxsize=64)
def _powers(rate: Fraction, loss: Fraction) -> _Powers:
    """The powers of a rate, from public numbers alone."""
    bits = 64 * (further_words(loss) + 2)
    reach = min(int((_TAIL + loss) / rate), _FARTHEST)
    scale = bits + _GUARD

    def table(step: int) -> tuple[int, ...]:
        with localcontext(precision(loss + _GUARD)):
            power = (-Decimal((step * rate).numerator) / Decimal((step * rate).denominator)).exp()
            base = int(power * (1 << scale))
        return tuple(
            accumulate(range(1, _BASE), lambda last, _: last * base >> scale, initial=1 << scale)
        )

    digits: list[tuple[int, ...]] = []
    while not digits or _BASE ** len(digits) <= reach:
        digits.append(table(_BASE ** len(digits)))
    first = tuple(_power(digits, bits, j) for j in range(min(reach + 1, _FIRST)))
    return _Powers(bits, reach, tuple(digits), first)
