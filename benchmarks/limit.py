"""How little any mechanism could spend on one atom, whatever it does (theory 6.5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def least_epsilon(distances: NDArray[np.int64], beta: float, alpha: float) -> float:
    """The epsilon below which no mechanism keeps both bounds on this instance.

    `distances` are the rows that each group that does not satisfy the condition lacks. With
    that many rows more it would be missed with probability at most beta, so by group
    privacy it is left out with probability at most beta exp(epsilon d); and
    the expected number left out is at least (1 - alpha) of them all. The sum grows with epsilon.
    """
    wanted = (1 - alpha) * distances.size
    if distances.size == 0 or min(1.0, beta) * distances.size >= wanted:
        return 0.0

    def left_out(epsilon: float) -> float:
        return float(np.minimum(1.0, beta * np.exp(np.minimum(epsilon * distances, 700.0))).sum())

    low, high = 0.0, 1.0
    while left_out(high) < wanted:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (low, middle) if left_out(middle) >= wanted else (middle, high)
    return low
