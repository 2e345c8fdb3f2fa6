"""An answer as the ledger keeps it: what was released, what was asked of it, and its promise.

Privacy: everything here was drawn and charged, or is public. Values are kept for returned groups
alone, as the noisy integers that left the vault; never exact ones, and never the noise.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from fractions import Fraction
from typing import Any

import numpy as np

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.following import Form, Held
from probe_sql.errors import AccuracyError
from probe_sql.measuring import (
    Figure,
    Floats,
    Guarantee,
    Ints,
    Mask,
    Outcome,
    Peeled,
    Shown,
    Step,
    Wrong,
)
from probe_sql.options import OPTIONS
from probe_sql.plan.plan import Plan

_FORMAT = 1  # of the text; what was written under another is not read

Price = tuple[float, ...]  # the epsilon of each part


@dataclass(frozen=True, slots=True)
class Value:
    """A measure that was drawn for the returned groups, at an epsilon for each.

    `climb` is its relative margin with the confidence, where its levels were chosen by its noise.
    """

    values: Ints
    epsilons: Floats
    climb: tuple[str, float] | None


@dataclass(frozen=True, slots=True)
class Column:
    """A value of every group, with the margin that was asked for it and what its parts cost."""

    shown: Shown
    margin: float | str | None
    price: Price


@dataclass(frozen=True, slots=True)
class Head:
    """Where the finest value of a chain is: a part of a column, and the exact epsilon of its draw.

    Privacy: the values are raw, as they left the vault: not rounded, clipped or moved.
    """

    column: str
    part: int
    level: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure that was drawn once for every group: its form over tallies, and where it is.

    Privacy: the values are those of a column, raw, as they left the vault.
    """

    form: Form
    delta: int
    column: str
    part: int
    level: float


@dataclass(frozen=True, slots=True)
class Record:
    """An answer, or a denial, as it was given: `values` and `columns` by their digests.

    `aside` is what a selection had set aside for values, which a denial depends on. `heads` are the
    values that a later query may go on from, by chain; `measured` those from which other values may
    follow; `content` is the keyed digest of the data
    that they are of, `opening` when their source was opened.
    """

    status: str
    groups: int
    unit: str
    asked: Mapping[str, Any]  # the accuracy options
    guarantee: Guarantee
    trace: tuple[Step, ...]
    returned: Ints  # indexes in the key domain
    certain: Ints | None
    values: Mapping[str, Value]
    columns: Mapping[str, Column]
    aside: Mapping[str, float]
    denial: str | None
    min_entropy: float | None
    peeled: Peeled | None = None
    heads: Mapping[str, Head] = field(default_factory=dict)
    content: str | None = None
    opening: str | None = None
    measured: tuple[Measured, ...] = ()

    def held(self) -> list[Held]:
        """The measures of every group from which other values may follow."""
        return [
            Held(one.form, one.delta, one.level, self.columns[one.column].shown.parts[one.part])
            for one in self.measured
        ]

    def head(self, chain: str) -> tuple[Ints, float] | None:
        """The value of a chain in every group, with its level."""
        head = self.heads.get(chain)
        if head is None:
            return None
        return self.columns[head.column].shown.parts[head.part], head.level

    def outcome(self) -> Outcome:
        """What was decided then, without values, whose numbers another plan may give otherwise."""
        details = {} if self.min_entropy is None else {"min_entropy": self.min_entropy}
        certain = None if self.certain is None else _mask(self.certain, self.groups)
        return Outcome(
            _mask(self.returned, self.groups),
            self.status,
            self.guarantee,
            self.trace,
            denial=self.denial,
            certain=certain,
            details=details,
            peeled=self.peeled,
        )

    def options(self) -> dict[str, Any]:
        """The accuracy options that were asked for, as a query could ask for them."""
        found = {}
        for name, option in OPTIONS.items():
            with contextlib.suppress(AccuracyError):
                if self.asked.get(name) is not None:
                    found[name] = option.check(self.asked[name])
        return found

    def dump(self) -> str:
        """Write the record as text."""
        return json.dumps(
            {
                "format": _FORMAT,
                "status": self.status,
                "groups": self.groups,
                "unit": self.unit,
                "asked": self.asked,
                "guarantee": asdict(self.guarantee),
                "trace": [asdict(step) for step in self.trace],
                "returned": self.returned.tolist(),
                "certain": None if self.certain is None else self.certain.tolist(),
                "values": {
                    digest: [value.values.tolist(), _short(value.epsilons), value.climb]
                    for digest, value in self.values.items()
                },
                "columns": {
                    digest: [
                        [part.tolist() for part in column.shown.parts],
                        _short(column.shown.margins),
                        _short(column.shown.together),
                        column.margin,
                        column.price,
                    ]
                    for digest, column in self.columns.items()
                },
                "aside": self.aside,
                "denial": self.denial,
                "min_entropy": self.min_entropy,
                "peeled": None if self.peeled is None else asdict(self.peeled),
                "heads": {chain: [*astuple(head)] for chain, head in self.heads.items()},
                "content": self.content,
                "opening": self.opening,
                "measured": [
                    [
                        {tally: str(weight) for tally, weight in one.form.items()},
                        *(one.delta, one.column, one.part, one.level),
                    ]
                    for one in self.measured
                ],
            }
        )

    @classmethod
    def load(cls, text: str) -> Record | None:
        """Inverse of `dump`; None for the text of another format."""
        said = json.loads(text)
        if said.pop("format") != _FORMAT:
            return None
        wrong = said["guarantee"].pop("wrong")
        size, returned = said["groups"], _ints(said["returned"])
        said["guarantee"] = Guarantee(
            **said["guarantee"], wrong=None if wrong is None else Wrong(**wrong)
        )
        said["trace"] = tuple(Step(**step) for step in said["trace"])
        said["returned"] = returned
        said["certain"] = None if said["certain"] is None else _ints(said["certain"])
        said["values"] = {
            digest: Value(
                _ints(values), _long(epsilons, returned.size), None if climb is None else (*climb,)
            )
            for digest, (values, epsilons, climb) in said["values"].items()
        }
        said["columns"] = {
            digest: Column(
                Shown(tuple(map(_ints, parts)), _long(margins, size), _long(together, size)),
                margin,
                tuple(price),
            )
            for digest, (parts, margins, together, margin, price) in said["columns"].items()
        }
        if said.get("peeled") is not None:
            was = said["peeled"]
            said["peeled"] = Peeled(was["groups"], was["reach"], tuple(was["ahead"]))
        said["heads"] = {chain: Head(*head) for chain, head in said.get("heads", {}).items()}
        said["measured"] = tuple(
            Measured({tally: Fraction(weight) for tally, weight in form.items()}, *rest)
            for form, *rest in said.get("measured", [])
        )
        return cls(**said)


def record(plan: Plan, outcome: Outcome) -> Record:
    """Write down what a plan came to."""
    size = outcome.returned.size
    returned = np.flatnonzero(outcome.returned)
    certain = outcome.certain
    columns = {}
    if outcome.shown:
        prices = priced(plan, size)
        for figure in plan.figures:
            columns[plan.figure_identity(figure)] = Column(
                outcome.shown[figure.output], figure.margin, prices(figure)
            )
    return Record(
        outcome.status,
        size,
        plan.caps.description,
        asked(plan.accuracy),
        outcome.guarantee,
        outcome.trace,
        returned,
        None if certain is None else np.flatnonzero(certain & outcome.returned),
        {
            plan.measure_identity(measure): Value(
                values[returned], epsilons[returned], climb_of(plan, measure)
            )
            for measure, (values, epsilons) in outcome.noisy.items()
            if measure < len(plan.measures)
        },
        columns,
        aside(plan),
        outcome.denial,
        outcome.details.get("min_entropy"),
        outcome.peeled,
    )


def asked(accuracy: Accuracy) -> dict[str, Any]:
    """All accuracy options by name, as JSON has them."""
    values = {field.name: getattr(accuracy, field.name) for field in fields(accuracy)}
    return {n: dict(v) if isinstance(v, Mapping) else v for n, v in values.items()}


def aside(plan: Plan) -> dict[str, float]:
    """What a selection sets aside for values of the SELECT list: the epsilon of each measure."""
    return {plan.measure_identity(measure): epsilon for measure, epsilon in plan.releases.extra}


def climb_of(plan: Plan, measure: int) -> tuple[str, float] | None:
    """The relative margin at which a measure of the SELECT list climbs, with its confidence."""
    if measure not in plan.releases.climbs:
        return None
    return repr(plan.releases.climbs[measure]), plan.accuracy.confidence


def priced(plan: Plan, groups: int) -> Any:
    """A function that gives the epsilon of each part of a figure, as the plan would draw it."""
    numbers = plan.decider.first_draws(plan.outline(groups)).numbers
    prices = {measure: epsilon for behind, epsilon in numbers for measure in behind}

    def price(figure: Figure) -> Price:
        return tuple(prices[part.measure] for part in figure.parts)

    return price


def _mask(indexes: Ints, size: int) -> Mask:
    found: Mask = np.zeros(size, dtype=np.bool_)
    found[indexes] = True
    return found


def _ints(values: Sequence[int]) -> Ints:
    return np.array(values, dtype=np.int64)


def _short(values: Floats) -> float | list[float]:
    """Many equal numbers as one."""
    first = float(values[0]) if values.size else 0.0
    same = np.array_equal(values, np.full(values.size, first), equal_nan=True)
    return first if same else values.tolist()


def _long(values: float | list[float], size: int) -> Floats:
    if isinstance(values, list):
        return np.array(values, dtype=np.float64)
    return np.full(size, values, dtype=np.float64)
