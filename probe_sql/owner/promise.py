"""What the budget of a policy means for one row and for one person, with periods and without."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from probe_sql.loss import odds
from probe_sql.periods import names_of, periods_in
from probe_sql.policy import Policy
from probe_sql.text import limit, plural


@dataclass(frozen=True, slots=True)
class PeriodsPromise:
    """What a budget of periods comes to: for one `row`, and one `person` with rows in all of them.

    Either is None where no private table protects that. `number` periods are declared.
    """

    column: str
    every: str
    epsilon: float
    names: str
    number: int
    row: float | None
    person: float | None
    whole: float

    def lines(self) -> Iterator[str]:
        """Say it to the owner, a sentence a line."""
        yield (
            f"epsilon {limit(self.epsilon)} for each {self.every} of {self.column}, {self.names}: "
            f"{plural(self.number, self.every)}"
        )
        if self.row is not None:
            yield f"a row loses at most {limit(self.row)}: {odds(self.row)}"
        if self.person is not None:
            total = limit(self.number * self.epsilon)
            less = "" if self.person < self.whole else f", of which [budget] allows {self.person:g}"
            yield (
                f"a person with rows in every {self.every} loses at most {total}, the sum over the "
                f"{self.every}s{less}: {odds(self.person)}"
            )


def periods_promise(policy: Policy) -> PeriodsPromise | None:
    """What the periods of a policy promise; None where it has none."""
    budget = policy.prices()
    periods = budget.periods
    if periods is None or periods.days is None:
        return None
    number = periods_in(periods.days, periods.every)
    people = [table.unit.column is not None for table in policy.tables.values()]
    most = min(periods.epsilon, budget.epsilon)
    person = min(number * periods.epsilon, budget.epsilon)
    return PeriodsPromise(
        periods.column,
        periods.every,
        periods.epsilon,
        names_of(periods.days, periods.every),
        number,
        None if all(people) else most,
        person if any(people) else None,
        budget.epsilon,
    )


def most_lost(policy: Policy) -> float:
    """The most that one of those whom the policy protects can lose, over all questions."""
    promise = periods_promise(policy)
    if promise is None:
        return policy.budget.epsilon
    return max(each for each in (promise.row, promise.person) if each is not None)
