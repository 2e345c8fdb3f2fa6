"""Min-entropy of predicate-wise privacy: how uncertain a group stays, at the least.

A group with loss e may have any probability between exp(-e)/sum(exp(e)) and
exp(e)/sum(exp(-e)). Min-entropy is the least Shannon entropy of a distribution within
these bounds, given as a share of ln k: 1 means that nothing was learnt.

Entropy is concave, so its minimum lies at a vertex: all groups but one at a bound. Which
groups go up is not a matter of sorting by loss, for a wide interval serves as well to go
low as to go high. Replacing each term by its chord gives a lower bound that filling in
order of the chords' slopes minimises; it is off by one group's term at most, and branch
and bound closes that gap.
Paper: Appendix C, definition of PWDP min-entropy.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe_sql.measuring import Floats

_TOLERANCE = 1e-6  # in nats
_WORK = 4_000  # kinds times nodes
_SLACK = 1e-12


@dataclass(frozen=True, slots=True)
class _Kind:
    """Groups with the same bounds [low, low + width] on their probability."""

    low: float
    width: float
    base: float  # entropy term at the lower bound
    rise: float  # what the term grows by at the upper bound
    slope: float


@dataclass(frozen=True, slots=True)
class _Node:
    """Distributions with between `least` and `most` groups of each kind at the upper bound.

    `inner`, once chosen, is the one group between its bounds, narrowed to a segment; it
    is of kind `of` and not counted in `most`.
    """

    least: tuple[int, ...]
    most: tuple[int, ...]
    inner: _Kind | None = None
    of: int = -1


@dataclass(frozen=True, slots=True)
class _Relaxed:
    bound: float  # no distribution of the node has less entropy
    entropy: float  # of one distribution in the node
    kind: int  # where it is fractional; -1 for the inner group
    raised: int  # groups of that kind at the upper bound
    part: float  # how far the fractional group is above its lower bound


def min_entropy(losses: Floats) -> float:
    """Min-entropy of groups with these losses, over ln k; never above the true value.

    Exact to 1e-6, unless that takes too long over many distinct losses; then a lower bound.
    """
    if losses.size < 2:
        return 1.0
    kinds, counts = _kinds(losses)
    return max(0.0, _search(kinds, counts, _WORK // len(kinds)) / math.log(losses.size))


def relaxed_min_entropy(losses: Floats) -> float:
    """The chord bound alone, over ln k: cheap, and below by less than one group's term."""
    if losses.size < 2:
        return 1.0
    low, high = _bounds(losses, np.ones(losses.size))
    width, base = high - low, -low * np.log(low)
    rise = -high * np.log(high) - base
    slope = np.divide(rise, width, out=np.zeros_like(rise), where=width > 0)
    order = np.argsort(slope)
    filled = np.cumsum(width[order])
    mass = 1.0 - float(low.sum())
    whole = min(int(np.searchsorted(filled, mass)), losses.size - 1)
    rest = mass - (float(filled[whole - 1]) if whole else 0.0)
    bound = float(base.sum() + rise[order[:whole]].sum() + rest * slope[order[whole]])
    return max(0.0, bound / math.log(losses.size))


def _term(p: float) -> float:
    return -p * math.log(p) if p > 0 else 0.0


def _kind(low: float, high: float) -> _Kind:
    width = high - low
    rise = _term(high) - _term(low)
    return _Kind(low, width, _term(low), rise, rise / width if width > 0 else 0.0)


def _kinds(losses: Floats) -> tuple[list[_Kind], tuple[int, ...]]:
    """Distinct intervals by slope, those that reduce the entropy fastest first."""
    values, counts = np.unique(losses, return_counts=True)
    lows, highs = _bounds(values, counts)
    found = [
        (_kind(low, high), count)
        for low, high, count in zip(lows.tolist(), highs.tolist(), counts.tolist(), strict=True)
    ]
    found.sort(key=lambda pair: pair[0].slope)
    return [kind for kind, _ in found], tuple(count for _, count in found)


def _bounds(values: Floats, counts: NDArray[Any]) -> tuple[Floats, Floats]:
    """Bounds on the probability of a group with each loss; none is 0, so logs exist."""
    low = np.exp(np.maximum(-values - _log_sum(values, counts), -700.0))
    high = np.exp(np.minimum(values - _log_sum(-values, counts), 0.0))
    return low, np.maximum(low, high)


def _log_sum(exponents: Floats, counts: NDArray[Any]) -> float:
    top = float(exponents.max())
    weights = np.exp(np.maximum(exponents - top, -700.0)) * counts
    return top + math.log(float(weights.sum()))


def _search(kinds: list[_Kind], counts: tuple[int, ...], nodes: int) -> float:
    """Best-first search; returns the least bound left when the gap closes or nodes run out."""
    root = _Node(tuple(0 for _ in counts), counts)
    relaxed = _relax(kinds, counts, root)
    assert relaxed is not None  # the uniform distribution is always within the bounds
    best, order = relaxed.entropy, itertools.count()
    heap = [(relaxed.bound, next(order), root, relaxed)]
    while heap and nodes > 0 and heap[0][0] < best - _TOLERANCE:
        nodes -= 1
        _, _, node, relaxed = heapq.heappop(heap)
        for child in _branch(kinds, counts, node, relaxed):
            narrowed = _relax(kinds, counts, child)
            if narrowed is not None:
                best = min(best, narrowed.entropy)
                if narrowed.bound < best - _TOLERANCE:
                    heapq.heappush(heap, (narrowed.bound, next(order), child, narrowed))
    return min(best, heap[0][0]) if heap else best


def _relax(kinds: list[_Kind], counts: tuple[int, ...], node: _Node) -> _Relaxed | None:
    """Least chord entropy of a node; None where its distributions cannot sum to 1."""
    mass, total = 1.0, 0.0
    entries = []
    for index, (kind, count) in enumerate(zip(kinds, counts, strict=True)):
        least, most = node.least[index], node.most[index]
        mass -= count * kind.low + least * kind.width
        total += count * kind.base + least * kind.rise
        entries.append((kind.slope, index, kind, most - least))
    if node.inner is not None:
        mass -= node.inner.low - kinds[node.of].low
        total += node.inner.base - kinds[node.of].base
        entries.append((node.inner.slope, -1, node.inner, 1))
        entries.sort(key=lambda entry: entry[0])
    if mass < -_SLACK:
        return None
    mass = max(mass, 0.0)
    for slope, index, kind, free in entries:
        room = free * kind.width
        if mass <= room:
            raised = min(int(mass / kind.width), free) if kind.width > 0 else 0
            part = max(mass - raised * kind.width, 0.0)
            curve = total + raised * kind.rise + _term(kind.low + part) - kind.base
            return _Relaxed(total + mass * slope, curve, index, raised, part)
        mass -= room
        total += free * kind.rise
    return _Relaxed(total, total, -1, 0, 0.0) if mass <= _SLACK else None


def _branch(
    kinds: list[_Kind], counts: tuple[int, ...], node: _Node, relaxed: _Relaxed
) -> Iterator[_Node]:
    """Nodes that together hold every vertex of `node`."""
    at = relaxed.kind
    if at < 0:
        if node.inner is not None:
            low, high = node.inner.low, node.inner.low + node.inner.width
            cut = low + relaxed.part
            yield replace(node, inner=_kind(low, cut))
            yield replace(node, inner=_kind(cut, high))
        return
    raised = node.least[at] + relaxed.raised
    yield replace(node, most=_with(node.most, at, raised))
    if raised < node.most[at]:
        yield replace(node, least=_with(node.least, at, raised + 1))
    if node.inner is None:
        most = _with(node.most, at, min(node.most[at], counts[at] - 1))
        if node.least[at] <= most[at]:
            yield _Node(node.least, most, kinds[at], at)


def _with(values: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    return (*values[:at], value, *values[at + 1 :])
