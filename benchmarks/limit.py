"""How little any mechanism could spend on a condition, whatever it does (docs/proofs/ladder.md)."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from probe_sql.measuring import Floats, Ints

MOST = 64.0  # an epsilon that is enough for everything
ODDS = 2.0  # databases whose answers differ by no more are as good as the same


def returned(distances: Ints, epsilon: float, beta: float) -> Floats:
    """The least chance to be returned of groups that lack so many rows each.

    A group that lacks none is missed with probability at most beta. One row less multiplies
    the chance to be left out by at most exp(epsilon) and the chance to be returned by at
    least exp(-epsilon): the first binds while few are left out, then the second.
    """
    few = math.log(1 / beta) - np.logaddexp(0.0, epsilon)
    rows = math.floor(few / epsilon) + 1 if few >= 0 else 0
    d = distances.astype(np.float64)
    near = 1 - beta * np.exp(epsilon * np.minimum(d, rows))
    result: Floats = near * np.exp(-epsilon * np.maximum(d - rows, 0.0))
    return result


def least_epsilon(distances: Ints, beta: float, alpha: float) -> float:
    """The epsilon below which no mechanism keeps fnr = beta and fpr = alpha on this instance.

    `distances` are the rows that each group that does not satisfy the condition lacks.
    """
    return _least(lambda e: returned(distances, e, beta).sum() <= alpha * distances.size)


def least_epsilon_listed(distances: Ints, true: int, beta: float, gamma: float) -> float:
    """The same for fnr = beta and fdr = gamma, where `true` groups satisfy the condition."""

    def enough(epsilon: float) -> bool:
        false = float(returned(distances, epsilon, beta).sum())
        return (1 - gamma) * false <= gamma * true if true else false <= gamma

    return _least(enough)


def least_epsilon_nearby(spare: Ints, distances: Ints, beta: float, gamma: float) -> float:
    """The same for a mechanism that keeps both also wherever a few rows are missing.

    `spare` are the rows by which each group that satisfies the condition does so: 1 is one row
    above the line. Without them the group is false, as near as can be, and one fewer is true.
    The nearest groups lose theirs: as many as are one row above the line for the first of
    them, and more as long as so many rows at that epsilon make nothing more than `ODDS` as likely.
    """
    largest, rows = least_epsilon_listed(distances, spare.size, beta, gamma), 0
    for number, own in enumerate(np.sort(spare).tolist(), start=1):
        rows += own
        there = np.append(distances, np.ones(number, dtype=np.int64))
        limit = least_epsilon_listed(there, spare.size - number, beta, gamma)
        if rows > 1 and rows * limit > math.log(ODDS):
            break
        largest = max(largest, limit)
    return largest


def _least(enough: Callable[[float], bool]) -> float:
    """The least epsilon that is enough; 0 where next to nothing is."""
    low, high = 1e-9, MOST
    if enough(low):
        return 0.0
    for _ in range(80):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return low
