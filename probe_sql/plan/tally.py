"""The scan of a plan as a value: integer tallies of one pass, and measures made of them.

A *tally* is one SQL aggregate that yields an integer for each group. A *measure* is an
integer combination of tallies, of known sensitivity: what noise is added to.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from probe_sql.policy.model import JointKeys
from probe_sql.sql.bound import GroupKey, Output
from probe_sql.sql.canonical import encode
from probe_sql.sql.relation import Relation
from probe_sql.sql.scalar import Scalar

LIMIT = 2**62  # measures saturate here: clamping is 1-Lipschitz, so sensitivity stays


@dataclass(frozen=True, slots=True)
class Tally:
    """An integer aggregate: `kind` is count, sum, distinct or ranking.

    A sum adds round(argument / grid), an integer in [low, high], over the rows that pass
    `filter` and where the argument is not NULL. `present` is what must not be NULL; `label`
    is for people. A row that passes one of the filters `after` does not enter, whatever else it
    passes: the plan has counted on their being exclusive. A ranking counts rows by the integer that
    a sum would add.
    """

    kind: str
    argument: Scalar | None
    filter: Scalar | None
    grid: Fraction = Fraction(1)
    low: int = 0
    high: int = 1
    present: Scalar | None = None
    label: str = ""
    after: tuple[Scalar, ...] = ()
    _identity: bytes | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def identity(self) -> bytes:
        """The canonical form: within a query, tallies that share it count the same."""
        if self._identity is None:
            object.__setattr__(self, "_identity", self.written(lambda scalar: scalar.identity))
        assert self._identity is not None
        return self._identity

    def written(self, write: Callable[[Scalar], bytes]) -> bytes:
        """Write it down, each of its expressions by `write`."""
        parts = (self.argument, self.filter)
        argument, passes = (None if part is None else write(part) for part in parts)
        return encode((self.kind, argument, passes, self.grid))


@dataclass(frozen=True, slots=True)
class Multiplier:
    """A public number of the group as an integer: round(scalar / grid), in [low, high]."""

    scalar: Scalar
    grid: Fraction
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Term:
    """`coefficient * tally`, times a public number of the group where there is one."""

    coefficient: int
    tally: int
    multiplier: Multiplier | None = None


@dataclass(frozen=True, slots=True)
class Threshold:
    """A public threshold of the group: floor((constant + sum of factor * scalar) / unit) + shift.

    `floor` False takes the ceiling. A NULL gives no threshold: the group never passes.
    """

    constant: Fraction
    parts: tuple[tuple[Fraction, Scalar], ...]
    unit: Fraction
    floor: bool
    shift: int


@dataclass(frozen=True, slots=True)
class MeasureSql:
    """How a measure is computed: the terms, cut off by its guards.

    With guards g the value is min(sum of terms, t + delta * count_g): at most t where a guard
    counts no row, the sum elsewhere as far as the comparison with t goes, and still changed
    by at most delta by one row.
    """

    terms: tuple[Term, ...]
    guards: tuple[int, ...] = ()
    guard_threshold: int | Threshold = 0
    delta: int = 1


@dataclass(frozen=True, slots=True)
class Scan:
    """One pass over the private table: everything the renderer needs.

    `walls` are conditions that every row fulfils which passes WHERE, if the plan is right in what
    it relied on: rows for which they do not hold are left out.
    """

    relation: Relation
    keys: tuple[GroupKey, ...]
    joint: JointKeys | None
    tallies: tuple[Tally, ...]
    measures: tuple[MeasureSql, ...]
    thresholds: tuple[Threshold, ...]
    outputs: tuple[Output, ...] = ()
    kept: tuple[Scalar, ...] = ()  # conditions over the domain: the groups that are asked for
    rankings: tuple[Tally, ...] = ()
    walls: tuple[Scalar, ...] = ()

    @property
    def conditions(self) -> tuple[Scalar, ...]:
        """What a row must fulfil to be read: WHERE, and the walls behind it."""
        return (*self.relation.where, *self.walls)

    @property
    def ranked(self) -> bool:
        """Whether this is the pass of one ranking: its tallies are the value and the rows."""
        return bool(self.tallies) and self.tallies[0].kind == "ranking"


class Engine(Protocol):
    """A database that can run scans, as far as SQL goes: handed to the plan by who opened it."""

    @property
    def name(self) -> str:
        """The engine's name, for people."""
        ...

    def check(self, scan: Scan) -> None:
        """Raise `Refused`, with the span, for what the engine cannot compute exactly."""
        ...

    def statements(self, scan: Scan, fuse: bool = True, pretty: bool = False) -> tuple[str, ...]:
        """The SQL that reads private rows: one statement, or one for each measure."""
        ...
