"""What the owner has let be spent, as the ledger remembers it: the smaller of it and the policy's
budget holds.

Privacy: a policy is a file that can be changed without a trace. The ledger's entry makes every
raise an act on record, of whoever may write the ledger.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from probe_sql.ledger.dated import PeriodLimit
from probe_sql.loss import Loss
from probe_sql.periods import EVERY
from probe_sql.policy.model import Budget
from probe_sql.text import limit


@dataclass(frozen=True, slots=True)
class Allowance:
    """Units that everybody together may spend, and those of each analyst by name.

    `analysts` is None where nobody has a limit of their own and anybody may ask. `periods` are the
    limits of periods, of which all hold.
    """

    total: int
    analysts: Mapping[str, int] | None = None
    periods: tuple[PeriodLimit, ...] = ()

    @classmethod
    def of(cls, budget: Budget) -> Allowance:
        """What a policy's budget allows."""
        own = {name: Loss.allowed(epsilon).units for name, epsilon in budget.analysts.items()}
        each = budget.periods
        limits = (
            ()
            if each is None
            else (PeriodLimit(each.name, each.every, Loss.allowed(each.epsilon).units),)
        )
        return cls(Loss.allowed(budget.epsilon).units, own or None, limits)

    def least(self, other: Allowance | None) -> Allowance:
        """What both allow: the smaller of each limit, and nobody whom one of them does not list.

        Privacy: limits of periods of another length or column hold beside each other, so that a
        policy which changes or drops them gives nobody a fresh budget.
        """
        if other is None:
            return self
        analysts = other.analysts if self.analysts is None else self.analysts
        if self.analysts is not None and other.analysts is not None:
            both = self.analysts.keys() & other.analysts.keys()
            analysts = {name: min(self.analysts[name], other.analysts[name]) for name in both}
        periods = {mine[:2]: mine for mine in self.periods}
        for theirs in other.periods:
            mine = periods.get(theirs[:2], theirs)
            periods[theirs[:2]] = theirs._replace(units=min(theirs.units, mine.units))
        both_periods = tuple(each for _, each in sorted(periods.items()))
        return Allowance(min(self.total, other.total), analysts, both_periods)

    def dump(self) -> str:
        """Write it as text for the log; nothing is said of periods where there are none."""
        own = None if self.analysts is None else sorted(self.analysts.items())
        said: list[object] = [self.total, own]
        return json.dumps([*said, self.periods] if self.periods else said)

    @classmethod
    def load(cls, text: str) -> Allowance:
        """Inverse of `dump`."""
        total, own, *rest = json.loads(text)
        if not isinstance(total, int) or not (own is None or all(units >= 0 for _, units in own)):
            raise ValueError("this is no allowance")
        periods = tuple(PeriodLimit(*each) for limits in rest for each in limits)
        if any(each.every not in EVERY or each.units < 0 for each in periods):
            raise ValueError("this is no allowance")
        return cls(total, None if own is None else dict(own), periods)

    def __str__(self) -> str:
        named = sorted((self.analysts or {}).items())
        own = [f"{name} {limit(Loss(units).epsilon)}" for name, units in named]
        whole = f"epsilon {limit(Loss(self.total).epsilon)} in all"
        return ", ".join([whole, *map(str, self.periods), *own])
