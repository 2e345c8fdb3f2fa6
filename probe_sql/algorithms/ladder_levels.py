"""The levels of the ladder: how fine each is, and where a group lives or is decided on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import EllipsisType
from typing import Any

import numpy as np

from probe_sql.measuring import Floats, Ints, Mask

Place = tuple[EllipsisType, slice]  # groups, on the last axis
HALVES = (slice(0, None, 2), slice(1, None, 2))  # the groups, by their index in the domain
BOTH = (0, 1)
ALL: Place = (..., slice(None))


def place(halves: Sequence[int]) -> Place:
    """Where the groups of these halves stand."""
    return (..., HALVES[halves[0]]) if len(halves) == 1 else ALL


def others(values: Any, at: Place) -> Any:
    """Sum over all others, for each of the groups `at` a place."""
    return values.sum(-1, keepdims=True) - values[at]


@dataclass(frozen=True, slots=True)
class Tuning:
    """What is free in the algorithm (docs/decisions/0010-ladder-tuning.md)."""

    ratio: float = 1.08  # between the epsilons of two levels
    start: float = 2.0  # region of the first level, in ranges
    width: float = 2.0  # noise scales above the line over which a group comes to count as true
    # Standard errors between the sum and its bound, how many more where it was `near` for longer
    # than `patience` octaves (for more octaves, as their power `slowing`), and how near that is.
    margin: float = 0.3
    growth: float = 1.2
    patience: float = 3.0
    slowing: float = 0.7
    near: float = 2.1
    grain: float = 0.1  # as if of that bound what sure groups are worth enters the error, at least
    spare: float = 1.3  # groups on the line, itself among them, a group reckons with
    # Shares of the bounds for judging groups one by one: of fnr and fpr, of fnr and fdr, and of all
    # of them where there are but `few` groups, or by fpr alone `few_by_rate`; at every so many
    # levels they are judged so.
    alone: float = 0.04
    alone_killed: float = 0.05
    alone_settled: float = 0.02
    few: int = 20
    few_by_rate: int = 14
    alone_of_few: float = 0.5
    every: int = 4
    # Where too few groups are left for the sum (`Few`): parts of fnr, and of what sure groups make
    # up for, for tests of open ones, of which one takes 1/`first` of what is left where no other
    # group is open, and else 1/(`later` + others open).
    dropped: float = 0.7
    among: float = 0.9
    first: int = 4
    later: int = 20
    stray: float = 0.1  # expected false groups among those that count as true in settling others
    doubt: float = 0.01  # the probability that some group is wrongly marked certain


@dataclass(frozen=True, slots=True)
class Shares:
    """What each way to an answer may take of the bounds; all of them for one group."""

    miss: float  # being dead where the walk stops
    killed: float  # being decided alone, in the whole walk, when that is wrong
    settled: float
    false: float  # being returned falsely at the last level
    # False groups that may be settled in the whole walk for each group that satisfies the
    # condition, and for one more; 0 where fdr was not asked for.
    listed: float = 0.0
    spare: float = 0.0  # of `miss`, what tests among few open groups may take


def tail(rate: float, s: int) -> float:
    """P(V > s) for discrete Laplace V with base p = exp(-rate): p^(s+1)/(1+p), rounded up."""
    return math.exp(-(s + 1) * rate) / (1 + math.exp(-rate)) * (1 + 1e-12)


@lru_cache(maxsize=4096)
def distance(rate: float, share: float) -> int:
    """The least integer s >= 0 with P(V > s) <= share."""
    s = max(0, math.ceil(-(math.log(share) + math.log1p(math.exp(-rate))) / rate) - 1)
    if tail(rate, s) <= share:
        return s
    # Where the rate is tiny the estimate is off by many steps: double, then halve.
    step = 1
    while tail(rate, s + step) > share:
        s, step = s + step, 2 * step
    while step > 1:
        step = (step + 1) // 2
        if tail(rate, s + step) > share:
            s += step
    return s + 1


@dataclass(frozen=True, slots=True)
class Level:
    """One precision of the one number x = y + V, where y >= 1 satisfies the condition.

    Utility: P(dead | y) = miss p^(y-1) for y >= 1, p = exp(-rate), and a group that does not
    satisfy the condition lives with the least probability that privacy allows
    (docs/proofs/ladder.md, section 2).
    """

    epsilon: float
    rate: float
    miss: float
    reach: int  # a group is dead where x <= -reach,
    coin: float  # and at x = 1 - reach with this probability
    judged: bool  # whether groups are judged one by one:
    kill: int  # out for good where x <= -kill,
    spare: float  # of `miss`, what tests among few open groups may take,
    lost: float  # with which a group may be lost beside `miss`,
    settle: int  # in for good where x > settle
    stake: float  # and, unless this is 0, where the others agree (`settled_among`):
    apart: int  # those beyond this count as true there
    certain: int  # marked certain beyond this,
    sure: int  # and beyond this if judged so
    ends: bool  # the budget covers no later level
    last: bool  # there is none

    def living(self, x: Ints) -> Floats:
        """A(x): the chance to live of a group at x."""
        alive: Floats = np.where(x == 1 - self.reach, 1.0 - self.coin, x > -self.reach)
        return alive

    def alive(self, x: Ints, coins: Floats) -> Mask:
        """Who lives, by one uniform number for each group."""
        return coins < self.living(x)

    @property
    def on_the_line(self) -> float:
        """a(0): the chance to live of a group that lacks one row; no false group has a larger."""
        return float(on_the_line(self.rate, self.miss))


def on_the_line(rate: float, miss: float | Floats) -> Floats:
    """a(0) at a rate, for one miss probability or that of each group."""
    p = math.exp(-rate)
    chance: Floats = np.maximum(1 - miss / max(p, 1e-300), p * (1 - miss))
    return chance


def living_at(rate: float, miss: Floats, x: Ints) -> Floats:
    """A(x) where groups have miss probabilities of their own, as `Level.living` for one."""
    p = math.exp(-rate)
    reach = np.maximum(np.ceil(-(np.log(miss) + math.log1p(p)) / rate) - 1, 0.0)
    coin = (miss * (1 + p) * np.exp(rate * reach) - p) / -math.expm1(-rate)
    edge = 1.0 - np.clip(coin, 0.0, 1.0)
    alive: Floats = np.where(x == 1 - reach, edge, x > -reach)
    return alive


def last_rate(miss: float, false: float) -> float:
    """The least rate at which a(1) >= 1 - miss and a(0) <= false, but for rounding.

    Where miss + false >= 1 answers may be guessed, and any rate will do.
    """
    least = max(math.log((1 - false) / miss), math.log((1 - miss) / false))
    return max(least * (1 + 1e-12), 1e-6)


class Levels:
    """All levels of one walk, coarse to fine; a function of public numbers.

    Rates are powers of `ratio`, the same in all queries, so that the noise's tables are
    made once; the last is the one at which each group can be told by itself. `reach` is the
    public range of the number, `delta` its sensitivity, `first` overrides the region of the first
    level. `affordable` says whether the query may spend an epsilon on it: it covers `height` of
    them, and the ladder is `short` if those are not all. `judged` is the last one at which single
    groups are judged.
    """

    def __init__(
        self,
        groups: int,
        reach: float,
        delta: int,
        shares: Shares,
        tuning: Tuning,
        affordable: Callable[[float], bool],
        first: float | None = None,
    ) -> None:
        self._groups, self._delta, self._shares, self._tuning = groups, delta, shares, tuning
        self._made: dict[int, Level] = {}
        self._last = last_rate(shares.miss - shares.spare, shares.false)
        region = (tuning.start if first is None else first) * reach
        begin = min(math.log(1 / (2 * shares.miss)) / region, self._last)
        self._offset = math.floor(math.log(begin) / math.log(tuning.ratio))
        above = math.ceil(math.log(self._last) / math.log(tuning.ratio)) - self._offset
        self._whole = max(1, above + 1)
        self.height = _highest(self._whole, lambda level: affordable(self.epsilon(level)))
        self.short = self.height < self._whole
        # The last level that may leave a group open is judged, and every so many before it.
        self.judged = self.height - (1 if self.short else 2)
        self.judgements = max(1, self.judged // tuning.every + 1)

    def epsilon(self, level: int) -> float:
        """The price of a level, for a group for which it was revealed."""
        return self._delta * self.rate(level)

    def rate(self, level: int) -> float:
        """What its noise decays by from one integer to the next."""
        if level >= self._whole - 1:
            return self._last
        return float(min(self._tuning.ratio ** (self._offset + level), self._last))

    def __getitem__(self, number: int) -> Level:
        if number not in self._made:
            self._made[number] = self._make(number)
        return self._made[number]

    def _make(self, number: int) -> Level:
        rate, shares, tuning = self.rate(number), self._shares, self._tuning
        reach = distance(rate, shares.miss)
        p = math.exp(-rate)
        coin = (shares.miss * (1 + p) * math.exp(rate * reach) - p) / -math.expm1(-rate)
        each = tuning.doubt / (2 * self._groups)
        return Level(
            self._delta * rate,
            rate,
            shares.miss,
            reach,
            min(max(coin, 0.0), 1.0),
            number <= self.judged and (self.judged - number) % tuning.every == 0,
            distance(rate, shares.killed / self.judgements),
            shares.spare,
            shares.killed + shares.spare,
            distance(rate, shares.settled / self.judgements),
            shares.listed / self.judgements,
            distance(rate, tuning.stray / self._groups),
            distance(rate, each),
            distance(rate, each / self.judgements),
            self.short and number == self.height - 1,
            number == self._whole - 1,
        )


def _highest(whole: int, payable: Callable[[int], bool]) -> int:
    """How many of `whole` levels can be paid for; each costs more than the one before."""
    low, high = 0, whole
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if payable(middle - 1) else (low, middle - 1)
    return low
