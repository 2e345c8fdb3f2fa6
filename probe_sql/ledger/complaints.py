"""What the ledger says when it refuses; each one keeps the budget closed."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

from probe_sql.errors import BudgetExhausted, LedgerError, Stopped
from probe_sql.loss import Loss

_RESTORE = (
    "The owner of the data restores the latest ledger from a backup and takes it over with"
    " `probe-sql ledger DB --adopt`, which charges whatever the copy has forgotten."
)
_ADOPT = (
    "If the database was moved or restored on purpose, its owner takes the ledger over with"
    " `probe-sql ledger DB --adopt`; otherwise put the original ledger back."
)


def absent(path: Path) -> LedgerError:
    """There is none, and none was to be made."""
    return LedgerError(
        f"There is no ledger at {path}.",
        why="Every query is charged to a ledger before it is answered.",
        fix="Check the path, or open it with create=True if the database never had one.",
    )


def no_file(path: Path, mode: int) -> LedgerError:
    """Something that is no regular file is in the ledger's place."""
    if stat.S_ISDIR(mode):
        what = "a directory"
    elif stat.S_ISFIFO(mode):
        what = "a pipe"
    else:
        what = "a socket" if stat.S_ISSOCK(mode) else "a device"
    return LedgerError(
        f"The ledger {path} is {what}.",
        why="What was spent is kept in a file.",
        fix="Name a file that is a ledger, or one that does not exist yet.",
    )


def missing(path: Path) -> LedgerError:
    """An anchor remembers a ledger that is gone."""
    return LedgerError(
        f"The ledger {path} is missing.",
        why="An anchor shows that this database had one, so its budget is not fresh.",
        fix=_RESTORE,
    )


def emptied(path: Path) -> LedgerError:
    """The file is there and holds no ledger."""
    return LedgerError(
        f"The ledger {path} is empty.",
        why="The file exists, so it is not a new ledger, and what was spent cannot be read.",
        fix=_RESTORE,
    )


def unanchored(path: Path) -> LedgerError:
    """The anchor beside the ledger is gone."""
    return LedgerError(
        f"The ledger {path} has lost its anchor, the file {path.name}.anchor beside it.",
        why="Without it, the ledger may be an older copy that has forgotten what was spent.",
        fix=_ADOPT,
    )


def copied(path: Path) -> LedgerError:
    """The file is not the one that it says it is."""
    return LedgerError(
        f"The ledger {path} is a copy, or was moved.",
        why="It was written at another place, and the original may go on spending the same budget.",
        fix=_ADOPT,
    )


def other_database(path: Path) -> LedgerError:
    """The ledger names another database."""
    return LedgerError(
        f"The ledger {path} belongs to another database.",
        why="What was spent on one database says nothing about another.",
        fix=_ADOPT,
    )


def other_ledger(path: Path) -> LedgerError:
    """The anchors at this path remember a different ledger."""
    return LedgerError(
        f"The file {path} is not the ledger that was used here before.",
        why="The anchors at this path remember another one, whose spending it does not know.",
        fix="Put the original ledger back. A different database needs a ledger of another name.",
    )


def rolled_back(path: Path) -> LedgerError:
    """A row that is known to have been written is not in the chain."""
    return LedgerError(
        f"The ledger {path} has forgotten entries that were in it.",
        why="It was truncated, or an older copy was put in its place.",
        fix=_RESTORE,
    )


def edited(path: Path, where: str) -> LedgerError:
    """The chain does not hold."""
    return LedgerError(
        f"The ledger {path} was edited: {where}.",
        why="Its running hash does not match its rows, so what was spent cannot be trusted.",
        fix=_RESTORE,
    )


def unlisted(analyst: str | None) -> LedgerError:
    """The policy names its analysts, and this is none of them."""
    who = "A query without an analyst's name" if analyst is None else f"The analyst {analyst!r}"
    return LedgerError(
        f"{who} has no budget.",
        why="The policy gives each analyst a budget by name.",
        fix="Ask as one of the analysts in [budget.analysts], or let the owner add one.",
    )


def retired(path: Path, successor: str) -> LedgerError:
    """The owner took this ledger over to another place."""
    return LedgerError(
        f"The ledger {path} was taken over, to {successor}.",
        why="Two copies of one ledger would spend the same budget twice.",
        fix="Ask there. To come back, the owner runs `probe-sql ledger DB --adopt` here.",
    )


def original_remains(path: Path) -> LedgerError:
    """A copy is to be taken over, and the original cannot be ended."""
    return LedgerError(
        f"This ledger is a copy, and the original {path} cannot be ended.",
        why="It is still there, and would go on spending the same budget.",
        fix="Take the copy over as somebody who may write the original, or remove that first.",
    )


def newer(path: Path) -> LedgerError:
    """A later version of this engine wrote the file."""
    return LedgerError(
        f"The ledger {path} was written by a newer version of probe-sql.",
        why="This version might misread what was spent.",
        fix="Use the newer version.",
    )


def stopped(user: str, charged: float | None = None) -> Stopped:
    """The operating system's user had as many failed scans as the policy allows.

    `charged` is the price of a scan that was under way when they were stopped.
    """
    why = "A scan failed that no public fact explains, and failures are not covered by epsilon."
    if charged is not None:
        why += f" This one was under way, so it is charged: epsilon {charged:.6g}."
    return Stopped(
        f"The user {user!r} may not ask until the owner of the data has looked.",
        why=why,
        fix=f"The owner looks at `probe-sql ledger DB`, then runs it with `--unlock {user}`.",
    )


def not_owner(path: Path, what: str) -> LedgerError:
    """Somebody else's ledger is to be changed in a way that is its owner's."""
    return LedgerError(
        f"Only the owner of the ledger {path} may {what}.",
        why="It belongs to another user of this machine.",
        fix="Ask the owner of the data to do it.",
    )


def not_stopped(user: str, others: Iterable[str]) -> LedgerError:
    """Nothing to unlock."""
    names = ", ".join(sorted(others))
    return LedgerError(
        f"The user {user!r} has no failed scan.",
        why="Failures count for the operating system's user, not for an analyst's name.",
        fix=f"Unlock one of: {names}." if names else "Nobody has one.",
    )


def too_many_holds(user: str, holds: int) -> LedgerError:
    """The user has too much under way."""
    return LedgerError(
        f"The user {user!r} has as much under way as the policy allows.",
        why=f"At most {holds} queries at once, which together may hold {holds} times the"
        " policy's per_query: what is held is missing for everybody else.",
        fix="Wait for the others to end, or ask with a smaller epsilon.",
    )


def exhausted(*, asked: Loss, left: Loss, failure: Loss, analyst: str | None) -> BudgetExhausted:
    """The query does not fit; `analyst` if it is their own budget that is too small."""
    whose = "the database" if analyst is None else f"the analyst {analyst!r}"
    if not left.units:
        fix = "The budget is spent. Only the owner of the data may raise it."
    elif left < failure:
        fix = (
            f"None: a scan must be able to pay for its failure, {failure}."
            " Only the owner of the data may raise the budget."
        )
    else:
        fix = f"Set epsilon = {left} or less, or let the owner raise the budget."
    return BudgetExhausted(
        f"The query may cost epsilon {asked}, and {left} of the budget of {whose} remains.",
        why="Nothing was drawn and nothing was charged.",
        fix=fix,
    )
