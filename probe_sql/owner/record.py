"""The owner and the ledger: every entry, a stopped user who may ask again, a copy taken over."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from probe_sql.database import ledger_path
from probe_sql.ledger import Entry, Ledger
from probe_sql.ledger.failing import failures
from probe_sql.policy import Policy, load_policy


def record(
    source: Any, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None
) -> tuple[Entry, ...]:
    """Who asked what, when, and what it cost, of everybody; never a result.

    Privacy: for the owner of the ledger's file. Whoever else may open it sees what was asked from
    their own account.
    """
    with open_record(source, policy, ledger) as (_, _, entries):
        return entries


@contextmanager
def open_record(
    source: Any, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None
) -> Iterator[tuple[Ledger, Policy, tuple[Entry, ...]]]:
    """The ledger, its policy, and the entries that the caller may see."""
    with _open(source, policy, ledger) as book:
        entries = tuple(one for one in book.entries() if book.owned or one.user == book.user)
        yield book, load_policy(policy), entries


@dataclass(frozen=True, slots=True)
class Failing:
    """A user of the machine, or a login, whose scans have failed: how often, and whether the policy
    lets them ask no more until the owner has looked."""

    user: str
    failures: int
    stopped: bool


def failing(
    source: Any, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None
) -> tuple[Failing, ...]:
    """Whose scans have failed since the owner last looked. Only the owner of the ledger's file may
    know."""
    most = load_policy(policy).prices().failures
    with _open(source, policy, ledger) as book:
        found = failures(book)
    return tuple(Failing(user, count, count >= most) for user, count in sorted(found.items()))


def unlock(
    user: str,
    source: Any,
    policy: str | os.PathLike[str],
    ledger: str | os.PathLike[str] | None = None,
) -> None:
    """Let a user of the machine ask again, or a login (`account:name`), whose scans had failed.

    Only the owner of the ledger's file may.

    Privacy: failures are limited in number and not covered by epsilon, so the owner should know
    from the record why they failed.
    """
    with _open(source, policy, ledger) as book:
        book.unlock(user)


def allow(
    source: Any, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None
) -> str:
    """Let the policy's budget hold, after it was raised; what holds now, in words.

    Only the owner of the ledger's file may.
    """
    with _open(source, policy, ledger) as book:
        return str(book.allow())


def _open(
    source: Any, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None
) -> Ledger:
    rules = load_policy(policy)
    path, identity = ledger_path(source, rules, ledger)
    return Ledger.open(path, budget=rules.prices(), identity=identity)


def adopt(
    source: Any, policy: str | os.PathLike[str], ledger: str | os.PathLike[str] | None = None
) -> None:
    """Make the ledger at its place the one of this database; its chain must be intact.

    Privacy: what the original or an anchor remembers and the ledger has forgotten is charged, to
    each analyst their own, so adopting an older copy never gives budget back. An original that
    is still at its place is retired.
    """
    rules = load_policy(policy)
    path, identity = ledger_path(source, rules, ledger)
    Ledger.adopt(path, budget=rules.prices(), identity=identity).close()
