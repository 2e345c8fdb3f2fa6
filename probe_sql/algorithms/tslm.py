"""TSLM, the Threshold Shift Laplace Mechanism: one atom, one draw, a bound on misses.

Privacy: a draw at `epsilon(...)` loses that epsilon and nothing else; what is compared
with the threshold afterwards is post-processing.
Utility: a group whose atom holds is reported with probability at least 1 - beta.
Paper: section 3.2.

The bound beta is apportioned over the atoms by public numbers alone. Atom i has the weight
w_i = Delta_i / u_i, so that a share beta_i costs epsilon_i = w_i ln(1 / (2 beta_i)) (theory 3);
`paper_beta` and `even_beta` take and return one number for each atom 0..n-1. Proofs:
docs/proofs/apportionment.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from probe_sql.algorithms.protocol import FirstDraw
from probe_sql.measuring import FAR, Atom, Ints, Mask

# Every share stays below 1/2, where the tail bound of the noise would become void.
_CAP = math.nextafter(0.5, 0.0)


def first_region(share: float, atom: Atom) -> int:
    """Width u of the uncertain region: a share of the atom's public range, at least 1."""
    return max(1, math.floor(min(share * atom.range, float(FAR))))


def epsilon(delta: int, beta: float, region: int) -> float:
    """Loss at which a threshold shifted by u, the `region`, misses with probability <= beta.

    Utility: the atom's sum is at least t + 1 where it holds, so a miss needs noise of at
    most -(u + 1), and P(V <= -s) = p^s / (1 + p) with p = exp(-epsilon/delta). At
    p^u <= 2 beta this is at most 2 beta * p / (1 + p) < beta.
    Paper: epsilon = delta ln(1/(2 beta)) / u. It is rounded up by more than the error of
    the three floating-point operations, so the bound holds for the value returned.
    """
    if not 0 < beta < 0.5:
        raise ValueError(f"a shifted threshold needs 0 < beta < 1/2, not {beta}")
    exact = -math.log(2 * beta) * delta / region
    return exact + 4 * math.ulp(exact)


def first_draw(atom: Atom, share: float, beta: float, leaves: int = 1) -> FirstDraw:
    """An atom measured with a region of that share of its range, missed at most at `beta`."""
    region = first_region(share, atom)
    return FirstDraw(region, beta, epsilon(atom.delta, beta, region), leaves)


def excess(atom: Atom, noisy: Ints, at: Ints | None = None) -> Ints:
    """How far each noisy sum lies above the threshold; the atom reads as true where > 0.

    With `at`, of these groups only.
    """
    threshold = np.asarray(atom.threshold, dtype=np.int64)
    if at is not None:
        noisy = noisy[at]
        threshold = threshold[at] if threshold.ndim else threshold
    return atom.sign * np.clip(noisy, -FAR, FAR) - threshold


def reported(excess: Ints, region: int) -> Mask:
    """Groups above the threshold shifted down by `region`."""
    return excess > -region


def paper_beta(beta: float, weights: Sequence[float], occurrences: Sequence[int]) -> list[float]:
    """beta_i = beta w_i / sum_y(o_y w_y): the least sum of o_i epsilon_i under the union bound.

    Utility: sum_i o_i beta_i = beta, so FNR <= beta with a fresh measurement for each leaf.
    Paper: Theorem 4.5, Eq. gen_beta_occ, with its products multiplied out.
    """
    # Scaled by the largest weight, so that neither huge nor tiny weights leave the floats.
    largest = max(weights, default=1.0)
    scaled = [weight / largest for weight in weights]
    total = math.fsum(o * w for o, w in zip(occurrences, scaled, strict=True))
    return [_share(beta * weight / total) if total else _share(beta) for weight in scaled]


def even_beta(beta: float, occurrences: Sequence[int]) -> list[float]:
    """The same share for every leaf.

    Utility: sum_i o_i beta_i = beta, as above.
    Paper: ProBE-Naive and Naive.
    """
    total = sum(occurrences)
    return [_share(beta / total if total else beta) for _ in occurrences]


def _share(beta: float) -> float:
    return min(max(beta, math.ulp(0.0)), _CAP)
