"""What EXPLAIN says that a query costs: its first draws, as written, and the most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from probe_sql.algorithms.protocol import Algorithm, FirstDraws
from probe_sql.algorithms.record import dearer
from probe_sql.algorithms.values import prices
from probe_sql.logic import simplified
from probe_sql.loss import Loss
from probe_sql.measuring import Task
from probe_sql.plan.paying import Paid
from probe_sql.plan.person import PersonCosts
from probe_sql.plan.plan import Plan
from probe_sql.text import price


@dataclass(frozen=True, slots=True)
class Sharper:
    """That values go on from released ones: of when those are, and what that costs at most."""

    on: str
    loss: Loss

    @property
    def words(self) -> str:
        """Words of EXPLAIN for it."""
        least = dearer(self.loss.epsilon)
        return f"epsilon {least}, going on from the values of {self.on}, if the data are the same"

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {"on": self.on, "epsilon": self.loss.epsilon}


@dataclass(frozen=True, slots=True)
class Dues:
    """The periods of the budget that a question pays, and what remains in each.

    `left` is what this question may cost, by everything that limits it; None where no ledger was
    asked.
    """

    paid: Paid
    periods: tuple[tuple[str, float], ...] = ()
    left: float | None = None

    @property
    def words(self) -> str:
        """Which periods pay, why all of them do, and the least that one has left."""
        every, several = self.paid.every, len(self.periods) > 1 or " to " in str(self.paid.names)
        least = min((rest for _, rest in self.periods), default=self.left)
        rest = "" if least is None else f"ε {price(least)} left"
        if not self.paid.pays.spans:
            told = f" ({rest} in the one with least)" if rest else ""
            return f"Pays every {every}{told}: {self.paid.why}."
        told = f" ({rest}{' in the one with least' if several else ''})" if rest else ""
        return f"Pays the {every}{'s' if several else ''} {', '.join(self.paid.names)}{told}."

    def lines(self) -> list[str]:
        """Say which periods pay, line by line, and what each has left."""
        each = [f"            {name}: ε {price(rest)}" for name, rest in self.periods]
        return [f"periods     {self.words}", *each]

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {
            "every": self.paid.every,
            "all": not self.paid.pays.spans,
            "why": self.paid.why or None,
            "periods": [{"name": name, "remaining": rest} for name, rest in self.periods],
            "remaining": self.left,
        }


@dataclass(frozen=True, slots=True)
class Offer:
    """Margins at which what is kept answers, free: by column, with what is kept."""

    margins: Mapping[str, float]
    told: str

    @property
    def words(self) -> str:
        """Words of EXPLAIN for it: the clause to ask with."""
        named = ", ".join(f"{_name(name)} = {each:g}" for name, each in self.margins.items())
        return f"margin = ({named}) would be free: {self.told}"

    def as_dict(self) -> dict[str, Any]:
        """JSON-ready values."""
        return {"margins": dict(self.margins), "told": self.told}


def _name(name: str) -> str:
    """A name as the clause takes it."""
    plain = name.isascii() and name.isidentifier()
    return name if plain else '"' + name.replace('"', '""') + '"'


def sharper_loss(plan: Plan, groups: int, steps: Mapping[int, float]) -> Loss:
    """What values cost, of whose measures some go on from released ones and cost `steps`."""
    most = prices(plan.outline(groups)).most
    above = [steps.get(m, most.get(m, 0.0)) for m in range(len(plan.deltas))]
    return max(plan.unit_loss(above), plan.least)


def spent_on(plan: Plan, first: FirstDraws) -> list[float]:
    """The epsilon of each measure in the first draws.

    A number made of several measures is met as often as the one of them that is met most, which
    is any that does not count people.
    """
    spent = [0.0] * len(plan.deltas)
    for behind, epsilon in first.numbers:
        spent[min(behind, key=lambda measure: (measure in plan.caps.once, measure))] += epsilon
    return spent


def unminimised(
    plan: Plan, outline: Task, algorithm: Algorithm, people: PersonCosts | None
) -> Loss:
    """What the first draws would cost on the tree as written."""
    tree = simplified(plan.written.formula)
    written = replace(outline, atoms=plan.written.atoms, formula=tree)
    epsilon = algorithm.first_draws(written).epsilon
    return Loss.drawn(epsilon if people is None else epsilon * people.rows)


def worst(plan: Plan, first: FirstDraws, loss: Loss) -> Loss:
    """The most the query can be charged: a draw that would pass epsilon is never made.

    The ledger charges at least a scan's price.
    """
    most = Loss.asked(plan.accuracy.epsilon)
    if not first.whole:
        return max(most, plan.least)
    total = loss + plan.release_loss
    return max(total, plan.least) if total <= most else Loss.NOTHING
