"""Inputs that are as bad as can be for `ladder`, and what it does on them, counted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.ladder_levels import Tuning
from probe_sql.algorithms.ladder_stop import Watch
from probe_sql.measuring import Floats, Ints
from tests.algorithms.climb import climb
from tests.algorithms.crowd import rejected

SIGMAS = 4.26  # one in 100,000 on one side
# Public ranges, for ladders of about 5, 10, 17 and 25 octaves and one for sums of cents.
RANGES = {"short": 8.0, "middle": 250.0, "long": 4e4, "longest": 1e7, "huge": 1e12}
AT_ONCE = 300_000  # groups times runs that are simulated together


@dataclass(frozen=True)
class Cell:
    """The one number y of each group (1 or more: it satisfies the condition), and its range."""

    y: Ints
    reach: float

    @property
    def true(self) -> int:
        return int(np.count_nonzero(self.y >= 1))


def cell(reach: float, *parts: tuple[int, int]) -> Cell:
    """(how many groups, their number), one after the other."""
    return Cell(np.concatenate([np.full(size, y, dtype=np.int64) for size, y in parts]), reach)


def plateau(length: str, true: int, near: int, below: int, away: int) -> Cell:
    """Groups far above and far below at all levels, and some near the line at all levels."""
    reach = RANGES[length]
    far = int(30 * reach)
    return cell(reach, (true, far), (near, -below), (away, -far))


@dataclass(frozen=True)
class Counts:
    """What runs on a cell came to, one number for each run.

    Errors are taken over runs: groups of a run stop at about the same level, so neither
    misses nor false groups within a run need be independent.
    """

    missed: Ints  # in all answered runs, of each group that satisfies the condition
    misses: Floats
    false: Floats
    listed: Floats
    epsilon: Floats
    balance: Floats
    answered: Floats  # 1, or 0 for a denied run, which is counted as it would have gone on
    certain_and_false: int  # runs with such a group
    cell: Cell

    def misses_too_many(self, beta: float) -> bool:
        """Whether a bound that held would show as much once in 100,000: all groups, or one."""
        if not self.cell.true:
            return False
        runs = self.misses.size
        least = math.sqrt(beta * (1 - beta) / (runs * self.cell.true))
        rates = self.misses / self.cell.true
        if _mean(rates) - SIGMAS * max(_error(rates), least) > beta:
            return True
        return rejected(int(self.missed.max()), runs, beta, 1e-5 / self.cell.true)

    def beyond_fpr(self, alpha: float) -> bool:
        """The same for false groups among those that do not satisfy the condition."""
        over = self.false - alpha * (self.cell.y.size - self.cell.true)
        return _mean(over) > SIGMAS * _error(over)

    def beyond_fdr(self, gamma: float) -> bool:
        """The same for false groups among those listed; one more if no group is true."""
        over = self.false - gamma * (self.listed + (self.cell.true == 0))
        return _mean(over) > SIGMAS * max(_error(over), math.sqrt(gamma / over.size))

    def beyond_fdr_if_answered(self, gamma: float) -> bool:
        """The same among the runs that were answered alone, which is not promised."""
        over = (self.false - gamma * self.listed) * self.answered
        return _mean(over) > SIGMAS * _error(over)

    def words(self) -> dict[str, str]:
        """For the report."""
        negatives = max(1, self.cell.y.size - self.cell.true)
        listed = max(_mean(self.listed), 1e-9)
        return {
            "runs": str(self.false.size),
            "fnr": f"{_mean(self.misses) / max(1, self.cell.true):.4f}",
            "fpr": f"{_mean(self.false) / negatives:.4f} +- {_error(self.false) / negatives:.4f}",
            "fdr": f"{_mean(self.false) / listed:.4f} +- {_error(self.false) / listed:.4f}",
            "epsilon": f"{_mean(self.epsilon):.3f}",
            **self._words_of_answered(),
            "S": f"{_mean(self.balance):.3f}",
        }

    def _words_of_answered(self) -> dict[str, str]:
        """Other readings, where runs were denied: among answers, and a denial as nought."""
        if self.answered.all() or not self.answered.any():
            return {}
        false, listed = self.false * self.answered, self.listed * self.answered
        negatives = max(1, self.cell.y.size - self.cell.true)
        return {
            "answered": f"{_mean(self.answered):.3f}",
            "fpr if answered": f"{false.sum() / self.answered.sum() / negatives:.4f}",
            "fdr if answered": f"{false.sum() / max(listed.sum(), 1e-9):.4f}",
            "mean share": f"{_mean(false / np.maximum(listed, 1)):.4f}",
        }


def _mean(values: Floats) -> float:
    return float(values.mean())


def _error(values: Floats) -> float:
    return float(values.std()) / math.sqrt(values.size)


def audit(
    found: Cell,
    accuracy: Accuracy,
    runs: int,
    seed: int,
    *,
    tuning: Tuning | None = None,
    watch: type[Watch] | None = None,
    most: float = math.inf,
) -> Counts:
    """Run the ladder on a cell, many runs at once, and compare with the truth.

    `most` is the budget. Runs that it ends are counted as the walk would have gone on."""
    truth = found.y >= 1
    rng = np.random.default_rng(seed)
    missed: Ints = np.zeros(found.true, dtype=np.int64)
    columns: list[tuple[Floats, ...]] = []
    wrong = 0
    for size in _portions(runs, max(1, AT_ONCE // found.y.size)):
        made = climb(
            found.y, accuracy, size, rng, reach=found.reach, tuning=tuning, watch=watch, most=most
        )
        false = made.returned & ~truth
        lost = truth & ~made.returned & made.answered[:, None]  # a denied run misses none
        missed += lost[:, truth].sum(0)
        wrong += int((false & made.certain).any(-1).sum())
        counts = (lost.sum(-1), false.sum(-1), made.returned.sum(-1))
        counted = [column.astype(float) for column in (*counts, made.answered)]
        columns.append((*counted, made.epsilon, made.balance))
    parts = [np.concatenate(column) for column in zip(*columns, strict=True)]
    misses, wrongly, listed, answered, epsilon, balance = parts
    return Counts(missed, misses, wrongly, listed, epsilon, balance, answered, wrong, found)


def _portions(runs: int, most: int) -> Iterator[int]:
    for start in range(0, runs, most):
        yield min(most, runs - start)


def fdr_cells(length: str) -> dict[str, Cell]:
    """Plateaus at 0 and 3 rows that are a little too high for the share of false groups."""
    return {
        f"{true}-true-{near}-at-{below}": plateau(length, true, near, below, 10)
        for true, near, below in (
            (0, 1, 0), (1, 1, 0), (5, 1, 0), (5, 2, 0), (9, 1, 3), (10, 1, 0), (10, 3, 0),
            (12, 2, 0), (14, 2, 0), (14, 3, 0), (15, 2, 0), (16, 2, 0), (17, 2, 3), (18, 3, 0),
            (20, 3, 0), (20, 4, 0), (20, 5, 0), (21, 3, 0), (24, 3, 3), (25, 3, 0), (25, 4, 0),
            (28, 4, 0), (30, 5, 0), (30, 4, 3), (45, 6, 0), (100, 13, 0), (100, 13, 3),
        )
    }  # fmt: skip


def fpr_cells(length: str) -> dict[str, Cell]:
    """The same for the rate over the groups that do not satisfy the condition."""
    return {
        f"{near}-at-{below}-of-{near + away}-and-{true}": plateau(length, true, near, below, away)
        for true, near, below, away in (
            (0, 2, 0, 3), (0, 2, 0, 18), (3, 2, 0, 20), (0, 3, 0, 18), (0, 3, 0, 22),
            (30, 3, 3, 20), (0, 4, 0, 23), (5, 4, 0, 27), (0, 5, 0, 35), (100, 5, 3, 30),
            (25, 5, 0, 35), (0, 13, 0, 87), (30, 13, 3, 87), (0, 60, 0, 440), (0, 120, 3, 880),
        )
    }  # fmt: skip


def bound_cells(length: str) -> dict[str, tuple[Cell, float, float, float]]:
    """Plateaus for other bounds than those that queries get by themselves: cell, fnr, fpr, fdr.

    A bound of 1 is none. Small bounds have many sure groups of little weight beside two on the
    line; with a large fnr those on the line are often dead by chance.
    """
    return {
        f"fnr-{fnr:g}-{'fpr' if fdr == 1 else 'fdr'}-{min(fpr, fdr):g}-{true}-{near}": (
            plateau(length, true, near, 0, away), fnr, fpr, fdr,
        )
        for fnr, fpr, fdr, true, near, away in (
            (0.05, 0.01, 1, 0, 2, 150), (0.05, 0.02, 1, 0, 2, 70), (0.05, 0.02, 1, 0, 3, 115),
            (0.05, 0.05, 1, 0, 2, 28), (0.1, 0.3, 1, 0, 3, 5), (0.2, 0.1, 1, 0, 6, 40),
            (0.4, 0.1, 1, 0, 4, 30), (0.05, 1, 0.02, 65, 2, 4), (0.05, 1, 0.02, 75, 2, 4),
            (0.05, 1, 0.05, 28, 2, 4), (0.01, 1, 0.1, 14, 2, 10), (0.01, 1, 0.2, 5, 2, 10),
            (0.1, 1, 0.3, 10, 5, 10), (0.1, 1, 0.5, 10, 11, 10), (0.2, 1, 0.1, 20, 4, 10),
            (0.4, 1, 0.1, 14, 3, 4), (0.4, 1, 0.1, 28, 6, 4),
        )
    }  # fmt: skip


def other_cells() -> dict[str, Cell]:
    """Not plateaus: groups one row above, spread out, all true, none, few of many."""
    spread = np.where(np.arange(100) < 26, 1, -(np.arange(100) % 6))
    return {
        "one-of-10-one-above": cell(60, (1, 1), (9, -20)),
        "one-of-40-one-above": cell(60, (1, 1), (39, -20)),
        "ten-of-40-one-above": cell(60, (10, 1), (30, -25)),
        "all-of-10-one-above": cell(60, (10, 1)),
        "all-of-100-one-above": cell(60, (100, 1)),
        "0-to-5-below": Cell(spread.astype(np.int64), 60),
        "half-at-0": cell(60, (25, 1), (33, 0), (42, -50)),
        "far-above-and-close-below": cell(60, (25, 30), (11, -2), (64, -30)),
        "none-of-100": cell(60, (50, -2), (50, -20)),
        "none-of-500": cell(60, (500, -40)),
        "one-of-500": cell(60, (1, 40), (499, -40)),
        "three-of-500": cell(60, (3, 40), (497, -40)),
        "three-of-20": cell(60, (3, 40), (17, -30)),
    }


def vast_cells() -> dict[str, Cell]:
    """As many groups as there are pairs of taxi zones, with hardly a true one."""
    return {f"{true}-of-70225": cell(200, (true, 80), (70225 - true, -101)) for true in (0, 1, 3)}
