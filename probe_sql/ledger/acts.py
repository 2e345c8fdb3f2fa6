"""The owner's acts on a ledger, each a row: who was stopped asks again, a budget holds."""

from __future__ import annotations

from collections.abc import Callable

from probe_sql.ledger import errors
from probe_sql.ledger.allowance import Allowance
from probe_sql.ledger.chain import Row
from probe_sql.ledger.locks import owns
from probe_sql.ledger.log import Log, storable
from probe_sql.ledger.store import as_ledger_error


def unlock(log: Log, user: str, now: Callable[[], str]) -> None:
    """Forget the failures of a user of the machine, or of a login: the owner has looked."""

    def row() -> Row:
        if storable(user) not in log.book.failures:
            raise errors.not_stopped(user, log.book.failures)
        return log.book.draft("unlocked", time=now(), units=0, kind=storable(user))

    _act(log, row, "let a stopped user ask again")


def allow(log: Log, allowance: Allowance, now: Callable[[], str]) -> Allowance:
    """Let an allowance hold from now on, until the next; returns it.

    Privacy: until then the smaller of the policy's budget and the last entry holds, so that
    whoever can write the policy alone lets nobody spend more.
    """
    kind = storable(allowance.dump())
    _act(
        log, lambda: log.book.draft("allowed", time=now(), units=0, kind=kind), "change its budget"
    )
    return allowance


def _act(log: Log, row: Callable[[], Row], what: str) -> None:
    with as_ledger_error(log.path):
        if not owns(log.path):
            raise errors.NOT_OWNER.error(log.path, act=what)
    with log.store.transaction("IMMEDIATE"):
        log.catch_up()
        log.append(row(), None)
    log.follow(None)
