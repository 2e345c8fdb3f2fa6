"""What a budget leaves: for the whole database, for an analyst, and for what is under way."""

from __future__ import annotations

from collections.abc import Callable

from probe_sql.errors import InternalError
from probe_sql.ledger import errors
from probe_sql.ledger.allowance import Allowance
from probe_sql.ledger.chain import Book
from probe_sql.ledger.log import storable
from probe_sql.ledger.values import BudgetState, Receipt
from probe_sql.loss import Loss
from probe_sql.policy.model import Budget


def in_force(budget: Budget, book: Book) -> Allowance:
    """What may be spent: the smaller of the policy's budget and the owner's entry."""
    return Allowance.of(budget).least(book.allowed)


def state(allowance: Allowance, book: Book, analyst: str | None) -> BudgetState:
    """What is left by a book's totals.

    Privacy: what nobody knows whose it was counts against each analyst's own limit.
    """
    total, spent = allowance.total, book.spent
    left = max(0, total - spent)
    if analyst is None or allowance.analysts is None:
        return BudgetState(total, spent, left, None, None, None)
    own = allowance.analysts.get(analyst, 0)  # nothing for an analyst who is not listed
    own_spent = book.spent_by(storable(analyst)) + book.nameless
    own_left = max(0, own - own_spent)
    return BudgetState(total, spent, min(left, own_left), own, own_spent, own_left)


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
        raise errors.TOO_MANY_HOLDS.error(user=user, holds=budget.holds)


def check_drawn(price: Loss, receipt: Receipt) -> None:
    """Raise where more was drawn than was reserved."""
    if price.units > receipt.units:
        raise InternalError(
            "more was drawn than was reserved",
            why=f"{price} against {receipt.loss} of reservation {receipt.number}",
            fix="report this: the reservation stays charged in full",
        )
