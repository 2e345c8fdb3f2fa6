"""What a budget leaves: for the whole database, for an analyst, and for what is under way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from probe_sql.errors import InternalError
from probe_sql.ledger import errors
from probe_sql.ledger.allowance import Allowance
from probe_sql.ledger.chain import Book
from probe_sql.ledger.dated import PeriodLimit, PeriodState, Timeline
from probe_sql.ledger.errors import Shortage
from probe_sql.ledger.log import storable
from probe_sql.ledger.values import BudgetState, Receipt
from probe_sql.loss import Loss
from probe_sql.periods import EVERYTHING, Pays, Span, common
from probe_sql.policy.model import Budget, Periods


def in_force(budget: Budget, book: Book) -> Allowance:
    """What may be spent: the smaller of the policy's budget and the owner's entry."""
    return Allowance.of(budget).least(book.allowed)


def state(
    allowance: Allowance,
    book: Book,
    analyst: str | None,
    pays: Pays | None = None,
    days: Periods | None = None,
) -> BudgetState:
    """What is left by a book's totals: to a question that `pays` some days, or where none is named
    to one about the declared period that has most left. By `days` of each period.

    Privacy: what nobody knows whose it was counts against each analyst's own limit.
    """
    total, spent = allowance.total, book.spent
    left = max(0, total - spent)
    lines = [_timeline(each, book) for each in allowance.periods]
    left = min([left, *(max(0, line.limit.units - _used(line, pays, days)) for line in lines)])
    told = tuple(_told(line, days) for line in lines if days is not None)
    periods = tuple(one for each in told for one in each)
    if analyst is None or allowance.analysts is None:
        return BudgetState(total, spent, left, None, None, None, periods)
    own = allowance.analysts.get(analyst, 0)  # nothing for an analyst who is not listed
    own_spent = book.spent_by(storable(analyst)) + book.nameless
    own_left = max(0, own - own_spent)
    return BudgetState(total, spent, min(left, own_left), own, own_spent, own_left, periods)


def _timeline(limit: PeriodLimit, book: Book, asked: Iterable[tuple[Pays, int]] = ()) -> Timeline:
    """What the periods of a limit have spent, and what is asked now."""
    whole = sum(units for pays, units in asked if pays == EVERYTHING)
    named = [one for one in asked if one[0] != EVERYTHING]
    return Timeline.of(limit, book.undated + whole, [*book.dated.items(), *named])


def _used(line: Timeline, pays: Pays | None, periods: Periods | None) -> int:
    """What a question finds spent; where none is named, one about the period with most left."""
    if pays is None and periods is not None:
        spent = [one.spent_units for one in _told(line, periods)]
        return min(spent) if spent else line.most(EVERYTHING)[0]
    return line.most(pays or EVERYTHING)[0]


def _told(line: Timeline, periods: Periods) -> Iterator[PeriodState]:
    """The declared periods, where they are those of the limit."""
    limit = line.limit
    if (limit.column, limit.every) == (periods.name, periods.every) and periods.days is not None:
        for span, spent in line.runs(periods.days):
            yield PeriodState(span, limit.every, limit.units, spent)


Asked = Sequence[tuple[Loss, Pays]]
"""What questions may cost, each with the days that it pays."""


def admit(
    budget: Budget, allowance: Allowance, book: Book, analyst: str | None, asked: Asked
) -> int:
    """What is asked in all, in units; `BudgetExhausted` where it does not fit.

    It is compared with what everybody, the analyst, and each period that pays have left.
    Privacy: each period is compared with what it has spent and with all that is asked of it now.
    """
    whole = state(replace(allowance, periods=()), book, analyst)
    price = max(sum((loss for loss, _ in asked), Loss.NOTHING), budget.failure_price)
    told = partial(
        errors.exhausted,
        failure=budget.failure_price,
        withheld=allowance != Allowance.of(budget),
    )
    if price.units > whole.remaining_units:
        own = whole.analyst_remaining_units
        whose = analyst if own == whole.remaining_units else None
        raise told(asked=price, left=Loss(whole.remaining_units), analyst=whose)
    new = [(pays, loss.units) for loss, pays in asked]
    for limit in allowance.periods:
        line, after = _timeline(limit, book), _timeline(limit, book, new)
        for loss, pays in asked:
            most, day = after.most(pays)
            if most > limit.units:
                spent, _ = line.most(pays if day is None else Pays(limit.column, ((day, day),)))
                short = Shortage(limit, day, *_enough(line, budget, loss, pays))
                left = Loss(max(0, limit.units - spent))
                raise told(asked=loss, left=left, analyst=None, period=short)
    return price.units


def _enough(line: Timeline, budget: Budget, asked: Loss, pays: Pays) -> tuple[Span | None, bool]:
    """The longest run of periods in each of which so much is left, of those that the question pays
    if there is one; and whether it is one of those."""
    days = None if budget.periods is None else budget.periods.days
    if budget.periods is None or days is None or budget.periods.name != line.limit.column:
        return None, False
    fit = [span for span, spent in line.runs(days) if spent + asked.units <= line.limit.units]
    paid = pays.spans or (days,)
    met = [both for a in fit for b in paid if (both := common(a, b)) is not None]
    return max(met or fit, key=lambda span: (span[1] - span[0], span[1]), default=None), bool(met)


def check_listed(budget: Budget, allowance: Allowance, analyst: str | None) -> None:
    """Raise where analysts are listed, and this one is not."""
    listed = allowance.analysts
    if listed is not None and analyst not in listed:
        raise errors.unlisted(analyst, by_policy=analyst in (budget.analysts or (analyst,)))


def check_holds(
    budget: Budget,
    book: Book,
    user: str,
    units: int,
    alive: Callable[[str], bool],
) -> None:
    """Raise where this user has too much under way; one query always fits."""
    held = [
        (other.hold.process, other.units)
        for other in book.open.values()
        if other.hold is not None and other.hold.user == user
    ]
    living = [amount for process, amount in held if alive(process)]
    limit = budget.holds * Loss.asked(budget.usual).units
    if living and (len(living) >= budget.holds or sum(living) + units > limit):
        room = 0 if len(living) >= budget.holds else max(0, limit - sum(living))
        raise errors.too_many_holds(user, budget.holds, Loss(room), budget.failure_price)


def check_drawn(price: Loss, receipt: Receipt) -> None:
    """Raise where more was drawn than was reserved."""
    if price.units > receipt.units:
        raise InternalError(
            "more was drawn than was reserved",
            why=f"{price} against {receipt.loss} of reservation {receipt.number}",
            fix="report this: the reservation stays charged in full",
        )
