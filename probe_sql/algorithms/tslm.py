"""TSLM, the Threshold Shift Laplace Mechanism: one atom, one draw, a bound on misses.

Privacy: a draw at `epsilon(...)` loses that epsilon and nothing else; what is compared
with the threshold afterwards is post-processing.
Utility: a group whose atom holds is reported with probability at least 1 - beta.
Paper: section 3.2.
"""

from __future__ import annotations

import math

import numpy as np

from probe_sql.algorithms.protocol import FirstDraw
from probe_sql.measuring import FAR, AtomSpec, Ints, Mask


def region(share: float, atom: AtomSpec) -> int:
    """Width u of the uncertain region: a share of the atom's public range, at least 1."""
    return max(1, math.floor(min(share * atom.range, float(FAR))))


def epsilon(delta: int, beta: float, u: int) -> float:
    """Privacy loss at which a threshold shifted by `u` misses with probability <= beta.

    Utility: the atom's sum is at least t + 1 where it holds, so a miss needs noise of at
    most -(u + 1), and P(V <= -s) = p^s / (1 + p) with p = exp(-epsilon/delta). At
    p^u <= 2 beta this is at most 2 beta * p / (1 + p) < beta.
    Paper: epsilon = delta ln(1/(2 beta)) / u. It is rounded up by more than the error of
    the three floating-point operations, so the bound holds for the value returned.
    """
    if not 0 < beta < 0.5:
        raise ValueError(f"a shifted threshold needs 0 < beta < 1/2, not {beta}")
    exact = -math.log(2 * beta) * delta / u
    return exact + 4 * math.ulp(exact)


def first_draw(atom: AtomSpec, share: float, beta: float, leaves: int = 1) -> FirstDraw:
    """An atom measured with a region of that share of its range, missed at most at `beta`."""
    u = region(share, atom)
    return FirstDraw(u, beta, epsilon(atom.delta, beta, u), leaves)


def excess(atom: AtomSpec, noisy: Ints, at: Ints | None = None) -> Ints:
    """How far each noisy sum lies above the threshold; the atom reads as true where > 0.

    With `at`, of these groups only.
    """
    threshold = np.asarray(atom.threshold, dtype=np.int64)
    if at is not None:
        noisy = noisy[at]
        threshold = threshold[at] if threshold.ndim else threshold
    return atom.sign * np.clip(noisy, -FAR, FAR) - threshold


def reported(excess: Ints, u: int) -> Mask:
    """Groups above the threshold shifted down by `u`."""
    return excess > -u
