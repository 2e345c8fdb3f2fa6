"""What an algorithm owns: its promise, its first draws, and its run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from probe_sql.accuracy import Accuracy
from probe_sql.measuring import Guarantee, Meter, Outcome, Peel, Task


@dataclass(frozen=True, slots=True)
class FirstDraw:
    """How an atom is first measured: its region, its share of the bound, and its price.

    `leaves`: in how many of its leaves it is drawn afresh.
    """

    region: int
    beta: float
    epsilon: float
    leaves: int = 1


@dataclass(frozen=True, slots=True)
class FirstDraws:
    """What is drawn first, from public numbers alone.

    `atoms` has an entry for every atom of the formula. `numbers` are the noisy numbers behind
    them: the measures that each is made of, and its epsilon. `whole`: nothing is drawn later.
    `again`: values that the answer shows cost as much again as the decision. `number`: the name
    of the one number that decides, where there is one. `everything`: all of the task's epsilon
    goes to that number, so whoever asks says how much there is. `peel`: values are drawn for these
    groups alone, after choosing them.
    """

    title: str
    atoms: Mapping[int, FirstDraw]
    numbers: tuple[tuple[frozenset[int], float], ...]
    whole: bool = False
    again: bool = False
    number: str | None = None
    everything: bool = False
    peel: Peel | None = None

    @property
    def epsilon(self) -> float:
        """What a row that enters every measure loses by all of them."""
        return math.fsum(epsilon for _, epsilon in self.numbers)


def by_atom(
    title: str, task: Task, atoms: Mapping[int, FirstDraw], *, whole: bool = False
) -> FirstDraws:
    """First draws that measure every atom by itself."""
    numbers = tuple(
        (frozenset({task.atoms[atom].measure}), draw.leaves * draw.epsilon)
        for atom, draw in atoms.items()
    )
    return FirstDraws(title, atoms, numbers, whole)


class Algorithm(Protocol):
    """One way to answer a task."""

    @property
    def name(self) -> str: ...

    def guarantee(self, accuracy: Accuracy, *, capped: bool = False) -> Guarantee:
        """What an answer would promise. Raises `AccuracyError` where nothing could be kept."""
        ...

    def first_draws(self, task: Task) -> FirstDraws:
        """What a run would draw first; only public numbers are read, and no threshold."""
        ...

    def run(self, task: Task, meter: Meter) -> Outcome:
        """Decide which groups to return.

        Privacy: all values come from the meter, which charges before it draws.
        """
        ...
