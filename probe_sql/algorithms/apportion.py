"""Apportion the FNR bound beta over the atoms: pure functions of public numbers.

Atom i has the weight w_i = Delta_i / u_i, so that a share beta_i costs
epsilon_i = w_i ln(1 / (2 beta_i)) (theory 3). Proofs: docs/proofs/apportionment.md.
All functions take and return one number for each atom 0..n-1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# Every share stays below 1/2, where the tail bound of the noise would become void.
_CAP = math.nextafter(0.5, 0.0)


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
