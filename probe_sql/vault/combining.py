"""Measures of every group of the domain, in exact integers, from what a scan counted.

Privacy: a second wall stands here. Whatever keys the domain lists, each group that was counted has
one place in it, the first; where several take one place their tallies are added. So a row is in one
place at most.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from probe_sql.measuring import Ints
from probe_sql.plan.tally import LIMIT, MeasureSql, Scan, Threshold
from probe_sql.vault.memory import Scratch

_FITS = 2**62  # integers below it, and their sums, stay within 64 bits


def combined(
    scan: Scan, size: int, found: Sequence[Ints], public: Sequence[Ints] = ()
) -> tuple[Ints, ...]:
    """The measures of a scan, in domain order, moved into [-LIMIT, LIMIT].

    `found` are the places of the groups that were counted, their numbers, and their tallies;
    `public` the numbers of every group that `render_public` lists.
    """
    with Scratch() as scratch:
        places, groups, *counted = found
        if _repeats(groups):
            first = _first(places, groups)
            places, counted = places[first], [scratch.keep(tally[first]) for tally in counted]
        alone = not _repeats(places)
        tallies = [scratch.keep(_placed(places, tally, size, alone)) for tally in counted]
        numbers = iter(public)
        return tuple(_measure(one, tallies, numbers, scratch) for one in scan.measures)


def _repeats(numbers: Ints) -> bool:
    """Whether one of these numbers, none of them negative, occurs twice."""
    highest = int(numbers.max(initial=0))
    if highest > 8 * len(numbers) + 1024:  # few of many
        return len(np.unique(numbers)) < len(numbers)
    seen = np.zeros(highest + 1, dtype=np.bool_)
    seen[numbers] = True
    return int(np.count_nonzero(seen)) < len(numbers)


def _first(places: Ints, groups: Ints) -> Ints:
    """Which of the groups' places to take: the first of each."""
    order: Ints = np.lexsort((places, groups))
    ordered = groups[order]
    new = np.ones(len(groups), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    return order[new]


def _placed(places: Ints, tally: Ints, size: int, alone: bool) -> Ints:
    """The sum of a tally in each place, 0 where there is none; `alone`: of one value each."""
    kind = np.int64 if alone else _kind(_most(tally) * max(1, len(tally)))
    placed: NDArray[Any] = np.zeros(size, dtype=kind)
    if alone:
        placed[places] = tally
        return placed
    np.add.at(placed, places, tally.astype(kind))
    return _limited(placed)


def _measure(
    measure: MeasureSql, tallies: Sequence[Ints], public: Iterator[Ints], scratch: Scratch
) -> Ints:
    parts = [
        (term.coefficient, tallies[term.tally], next(public) if term.multiplier else None)
        for term in measure.terms
    ]
    base: int | Ints = 0
    if isinstance(measure.guard_threshold, Threshold):
        base = next(public)
    elif measure.guards:
        base = measure.guard_threshold
    guards = [tallies[guard] for guard in measure.guards]
    most = sum(abs(c) * _most(tally) * (1 if by is None else _most(by)) for c, tally, by in parts)
    kind = _kind(max(most, *(_most(base) + measure.delta * _most(g) for g in guards), 0))
    total: NDArray[Any] = scratch.keep(np.zeros(len(tallies[0]), dtype=kind))
    for coefficient, tally, by in parts:
        part = scratch.keep(tally.astype(kind))
        part *= coefficient
        if by is not None:
            part *= by.astype(kind)
        total += part
    for guard in guards:
        cap = scratch.keep(guard.astype(kind))
        cap *= measure.delta
        cap += base if isinstance(base, int) else base.astype(kind)
        np.minimum(total, cap, out=total)
    return _limited(total)


def _most(values: int | Ints) -> int:
    if isinstance(values, int):
        return abs(values)
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))


def _kind(most: int) -> type[Any]:
    """64 bits, or Python's integers where those could wrap around."""
    return np.int64 if most < _FITS else object


def _limited(values: NDArray[Any]) -> Ints:
    found: Ints = np.clip(values, -LIMIT, LIMIT).astype(np.int64)
    return found
