"""The state of all groups at once, against the definitions, one group and atom at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms import ladder_groups
from probe_sql.algorithms.ladder_groups import Charges, Groups
from probe_sql.algorithms.ladder_rungs import Rung, Rungs, Stage, Tuning
from probe_sql.logic.formula import And, Formula, Leaf, Or, evaluate
from probe_sql.measuring import Ints, Mask, Task
from tests.algorithms.meter import atom, task

GROUPS = 40
ACCURACY = Accuracy(fnr=0.1, fpr=0.2, epsilon=1e6, algorithm="ladder")
SPECS = [atom(0, 10, span=60.0), atom(0, 5, sign=-1, span=60.0), atom(1, 0, span=90.0)]
FORMULAS: list[Formula] = [
    Leaf(2),
    And((Leaf(0), Leaf(2))),
    Or((Leaf(0), Leaf(2))),
    Or((Leaf(0), Leaf(1))),  # two atoms on one measure
    And((Or((Leaf(0), Leaf(1))), Leaf(2))),
    Or((And((Leaf(0), Leaf(2))), Leaf(1))),
    And((Or((Leaf(0), Leaf(1))), Or((Leaf(0), Leaf(2))))),
]


@dataclass
class Group:
    """One group by the book."""

    work: Task
    rungs: Rungs
    killed: set[int] = field(default_factory=set)
    settled: set[int] = field(default_factory=set)
    alive: bool = True
    charge: float = 0.0

    def holds(self, true: set[int]) -> bool:
        return evaluate(self.work.formula, [i in true for i in range(len(SPECS))])

    def decided(self) -> bool:
        return self.holds(self.settled) or not self.holds(set(range(len(SPECS))) - self.killed)

    def matters(self, atoms: list[int], sure: set[int], possible: set[int]) -> bool:
        """Whether some completion of the open atoms makes the value depend on one of `atoms`."""
        for i in atoms:
            others = sorted(possible - sure - {i})
            for values in product((False, True), repeat=len(others)):
                chosen = sure | {o for o, value in zip(others, values, strict=True) if value}
                if i in possible - sure and self.holds(chosen | {i}) != self.holds(chosen - {i}):
                    return True
        return False

    def look(self, stage: Stage, noisy: dict[int, int]) -> set[int]:
        """One step; the measures that were read."""
        done = self.decided()
        sure, possible = set(self.settled), set(range(len(SPECS))) - self.killed
        factor = dict.fromkeys(range(len(SPECS)), 1.0)
        read = set()
        for rung in stage.rungs:
            if not self.matters(list(rung.kill), sure, possible):
                continue
            read.add(rung.measure)
            for i in rung.kill:
                spec = SPECS[i]
                assert isinstance(spec.threshold, int)
                x = spec.sign * noisy[rung.measure] - spec.threshold
                if i not in self.settled and x <= -rung.kill[i]:
                    self.killed.add(i)
                if i not in self.killed and x > rung.settle[i]:
                    self.settled.add(i)
                if i not in self.settled and (i in self.killed or x <= -stage.dead[i]):
                    possible.discard(i)
                if i in self.settled or (i not in self.killed and x > rung.window):
                    sure.add(i)
                factor[i] = 1 / (1 - math.exp(-rung.rate * rung.window)) if x > 0 else 1.0
        self.alive = self.holds(possible)
        self.charge = 0.0 if done or not self.alive else self._charge(sure, possible, factor)
        return read

    def _charge(self, sure: set[int], possible: set[int], factor: dict[int, float]) -> float:
        best = 0.0
        for clause in self.rungs.clauses:
            found: dict[int, float] = {}
            for i in clause & possible:
                measure = SPECS[i].measure
                found[measure] = max(found.get(measure, 0.0), 0.0 if i in sure else factor[i])
            best = max(best, math.prod(found.values()))
        return best


@pytest.mark.parametrize("formula", FORMULAS)
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.integers(0, 6), min_size=3, max_size=5), st.booleans())
def test_every_step_is_what_the_definitions_say(
    formula: Formula, seed: int, climbs: list[int], lazily: bool
) -> None:
    work = task(GROUPS, SPECS, formula, ACCURACY)
    # Large shares, so that atoms are killed and settled within a few steps.
    rungs = Rungs(work, Tuning(kill=0.5, settle=0.5), lambda _: True)
    rng = np.random.default_rng(seed)
    exact = rng.integers(-40, 40, (2, GROUPS))
    book = [Group(work, rungs) for _ in range(GROUPS)]
    groups = Groups(work, Charges(work, rungs.clauses))
    level = 4
    usual = ladder_groups.MANY
    ladder_groups.MANY = 0 if lazily else 10**6  # set decided groups aside never, or at once
    try:
        for climb in climbs:
            level += climb
            stage = rungs.stage(dict.fromkeys(rungs.order, level))
            asked: dict[int, Mask] = {}
            values = {a: exact[a] + _noise(rng, rungs.rung(a, level).rate) for a in rungs.order}

            def reveal(
                rung: Rung, wanted: Mask, values: dict[int, Ints] = values,
                asked: dict[int, Mask] = asked,
            ) -> Ints:  # fmt: skip
                asked[rung.measure] = wanted.copy()
                return np.where(wanted, values[rung.measure], 0)

            view = groups.copy().look(stage, reveal)
            assert np.array_equal(view.alive, groups.look(stage, reveal).alive)
            for number, one in enumerate(book):
                read = one.look(stage, {a: int(row[number]) for a, row in values.items()})
                assert read == {a for a, wanted in asked.items() if wanted[number]}
                assert view.alive[number] == one.alive
                assert view.charge[number] == pytest.approx(one.charge)
                assert groups.decided[number] == one.decided()
                assert groups.true[number] == one.holds(one.settled)
    finally:
        ladder_groups.MANY = usual


def _noise(rng: np.random.Generator, rate: float) -> Ints:
    first, second = rng.geometric(-np.expm1(-rate), (2, GROUPS))
    noise: Ints = first - second
    return noise
