"""Measures made of tallies: the integers of Python, whatever the tallies are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any, cast

import numpy as np
import pytest

from probe_sql.measuring import Ints
from probe_sql.plan.tally import LIMIT, MeasureSql, Multiplier, Scan, Term, Threshold
from probe_sql.vault.combining import combined

NUMBER = Multiplier(cast(Any, None), Fraction(1), 0, 9)
LINE = Threshold(Fraction(0), (), Fraction(1), True, 0)


@dataclass(frozen=True)
class Measures:
    """As much of a scan as is looked at."""

    measures: tuple[MeasureSql, ...]


def limited(value: int) -> int:
    return min(max(value, -LIMIT), LIMIT)


def expected(
    measures: tuple[MeasureSql, ...], size: int, found: list[list[int]], public: list[list[int]]
) -> list[list[int]]:
    """The same, group by group and in Python's integers."""
    first: dict[int, int] = {}
    for place, group in zip(found[0], found[1], strict=True):
        first[group] = min(place, first.get(group, size))
    tallies = [[0] * size for _ in found[2:]]
    for place, group, *values in zip(*found, strict=True):
        if first[group] == place:
            for tally, value in zip(tallies, values, strict=True):
                tally[place] += value
    tallies = [list(map(limited, tally)) for tally in tallies]
    numbers, result = iter(public), []
    for one in measures:
        totals = [0] * size
        for term in one.terms:
            by = next(numbers) if term.multiplier else [1] * size
            for i in range(size):
                totals[i] += term.coefficient * tallies[term.tally][i] * by[i]
        line = one.guard_threshold
        base = next(numbers) if isinstance(line, Threshold) else [int(line)] * size
        for guard in one.guards:
            for i in range(size):
                totals[i] = min(totals[i], base[i] + one.delta * tallies[guard][i])
        result.append(list(map(limited, totals)))
    return result


@pytest.mark.parametrize("seed", range(60))
def test_measures_are_exact(seed: int) -> None:
    rng = Random(seed)
    size, many = rng.randrange(1, 9), rng.randrange(0, 12)
    wide = rng.choice([5, 2**20, 2**50, 2**62])
    scattered = rng.choice([1, 10**9])
    pairs = {(rng.randrange(size), scattered * rng.randrange(many + 1)) for _ in range(many)}
    found = [[place for place, _ in pairs], [group for _, group in pairs]]
    found += [[rng.randint(-wide, wide) for _ in pairs] for _ in range(3)]
    measures, public = [], []
    for _ in range(rng.randrange(1, 4)):
        terms = []
        for _ in range(rng.randrange(1, 4)):
            by = NUMBER if rng.random() < 0.3 else None
            if by is not None:
                public.append([rng.randint(-wide, wide) for _ in range(size)])
            terms.append(Term(rng.choice([1, -1, 7, 2**40]), rng.randrange(3), by))
        guards = tuple(range(rng.randrange(3)))
        line: int | Threshold = rng.randint(-wide, wide)
        if rng.random() < 0.4:
            line = LINE
            public.append([rng.choice([LIMIT, rng.randint(-wide, wide)]) for _ in range(size)])
        measures.append(MeasureSql(tuple(terms), guards, line, rng.choice([1, 3, 2**30])))
    scan = cast(Scan, Measures(tuple(measures)))
    given: list[Ints] = [np.array(column, dtype=np.int64) for column in found]
    seen = combined(scan, size, given, [np.array(one, dtype=np.int64) for one in public])
    assert [column.tolist() for column in seen] == expected(tuple(measures), size, found, public)
    assert all(column.dtype == np.int64 for column in seen)
