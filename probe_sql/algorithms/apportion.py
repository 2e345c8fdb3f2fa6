"""Apportion the FNR bound beta over the atoms: pure functions of public numbers.

Atom i has the weight w_i = Delta_i / u_i, so that a share beta_i costs
epsilon_i = w_i ln(1 / (2 beta_i)) (theory 3). Proofs: docs/proofs/apportionment.md.
All functions take and return one number for each atom 0..n-1.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from probe_sql.algorithms.convex import Allocation, allocate
from probe_sql.logic import And, Constant, Formula, Leaf, leaves, prime_implicants, read_once

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


def walk_beta(formula: Formula, beta: float, weights: Sequence[float]) -> list[float]:
    """Optimal shares of a read-once formula whose atoms all read different aggregates.

    Top down: an OR hands its share to every child, an AND splits it in proportion to the
    children's total weights. Atoms that do not occur get the whole of beta.
    Utility: every prime implicant's shares sum to at most beta (theory 4.2).
    """
    shares = [_share(beta)] * len(weights)
    _walk(formula, beta, weights, shares)
    return shares


def implicant_beta(
    beta: float,
    weights: Sequence[float],
    implicants: Sequence[AbstractSet[int]],
    aggregates: Sequence[Hashable],
) -> list[float]:
    """Shares that minimise the epsilon of measuring each aggregate once.

    `aggregates[i]` names the aggregate that atom i reads. Minimises the sum over aggregates
    of max_i w_i ln(1/(2 beta_i)) subject to sum_{i in T} beta_i <= beta for every prime
    implicant T, within a relative 1e-6 of the optimum. The constraints hold strictly.
    Utility: FNR <= beta; no independence is needed (theory 4.2).
    """
    shares = [_share(beta)] * len(weights)
    used = sorted(frozenset[int]().union(*implicants))
    if not used:
        return shares
    result = solve(beta, weights, implicants, aggregates)
    for atom, share in zip(used, result.shares.tolist(), strict=True):
        shares[atom] = _share(share)
    return shares


def solve(
    beta: float,
    weights: Sequence[float],
    implicants: Sequence[AbstractSet[int]],
    aggregates: Sequence[Hashable],
) -> Allocation:
    """The convex problem of `implicant_beta` over the atoms that occur, with multipliers."""
    used = sorted(frozenset[int]().union(*implicants))
    names = list(dict.fromkeys(aggregates[atom] for atom in used))
    position = {atom: j for j, atom in enumerate(used)}
    members = np.zeros((len(implicants), len(used)), dtype=bool)
    for row, implicant in enumerate(implicants):
        members[row, [position[atom] for atom in implicant]] = True
    return allocate(
        min(beta, _CAP),
        np.array([weights[atom] for atom in used], dtype=float),
        members,
        np.array([names.index(aggregates[atom]) for atom in used]),
    )


def tight_beta(
    formula: Formula,
    beta: float,
    weights: Sequence[float],
    aggregates: Sequence[Hashable],
    implicants: Sequence[AbstractSet[int]] | None = None,
) -> list[float]:
    """The optimum of `implicant_beta`, by the exact walk where that is possible.

    `implicants`: the prime implicants that can be true (`Minimised.primes`); default all.
    """
    read = [aggregates[atom] for atom in leaves(formula)]
    if read_once(formula) and len(read) == len(set(read)):
        return walk_beta(formula, beta, weights)
    if implicants is None:
        implicants = prime_implicants(formula)
    return implicant_beta(beta, weights, implicants, aggregates)


def _share(beta: float) -> float:
    return min(max(beta, math.ulp(0.0)), _CAP)


def _walk(formula: Formula, beta: float, weights: Sequence[float], shares: list[float]) -> None:
    if isinstance(formula, Leaf):
        shares[formula.atom] = _share(beta)
    elif isinstance(formula, And):
        totals = [math.fsum(weights[atom] for atom in leaves(part)) for part in formula.parts]
        # Rounding down keeps the parts within the whole.
        whole = math.fsum(totals) * (1 + 1e-12)
        for part, total in zip(formula.parts, totals, strict=True):
            _walk(part, beta * (total / whole), weights, shares)
    elif not isinstance(formula, Constant):
        for part in formula.parts:
            _walk(part, beta, weights, shares)
