"""What the ledger says when it refuses: a row for each reason, each of which keeps it closed."""

from __future__ import annotations

import math
import shlex
import sqlite3
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from probe_sql.errors import BudgetExhausted, LedgerError, Stopped
from probe_sql.ledger.dated import PeriodLimit
from probe_sql.loss import Loss
from probe_sql.periods import Span, condition, first_of, name_of
from probe_sql.text import limit, price

_RESTORE = (
    "the owner of the data restores the latest ledger from a backup and takes it over with"
    " `probe-sql ledger DB --adopt`, which charges whatever the copy has forgotten"
)
_RESTORE_FILE = "the owner of the data restores it and runs `probe-sql ledger DB --adopt`"
_ADOPT = (
    "if the database was moved or restored on purpose, its owner takes the ledger over with"
    " `probe-sql ledger DB --adopt`; otherwise put the original ledger back"
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason to refuse; braces stand for the ledger's path and for what a row names."""

    what: str
    why: str
    fix: str

    def error(self, path: Path | None = None, **words: object) -> LedgerError:
        """The error for the ledger at `path`."""
        texts = (self.what, self.why, self.fix)
        name = path.name if path is not None else ""
        what, why, fix = (text.format(path=path, name=name, **words) for text in texts)
        return LedgerError(what, why=why, fix=fix)


ABSENT = Refusal(  # none was to be made
    "there is no ledger at {path}",
    "every query is charged to a ledger before it is answered",
    "check the path, or open it with create=True if the database never had one",
)
NO_FILE = Refusal(
    "the ledger {path} is {thing}",
    "what was spent is kept in a file",
    "name a file that is a ledger, or one that does not exist yet",
)
MISSING = Refusal(  # an anchor remembers it
    "the ledger {path} is missing",
    "an anchor shows that this database had one, so its budget is not fresh",
    _RESTORE,
)
EMPTIED = Refusal(
    "the ledger {path} is empty",
    "the file exists, so it is not a new ledger, and what was spent cannot be read",
    _RESTORE,
)
UNANCHORED = Refusal(
    "the ledger {path} has lost its anchor, the file {name}.anchor beside it",
    "without it, the ledger may be an older copy that has forgotten what was spent",
    _ADOPT,
)
COPIED = Refusal(
    "the ledger {path} is a copy, or was moved",
    "it was written at another place, and the original may go on spending the same budget",
    _ADOPT,
)
OTHER_DATABASE = Refusal(
    "the ledger {path} belongs to another database",
    "what was spent on one database says nothing about another",
    _ADOPT,
)
OTHER_LEDGER = Refusal(
    "the file {path} is not the ledger that was used here before",
    "the anchors at this path remember another one, whose spending it does not know",
    "put the original ledger back; a different database needs a ledger of another name",
)
ROLLED_BACK = Refusal(  # a row that is known to have been written is not in the chain
    "the ledger {path} has forgotten entries that were in it",
    "it was truncated, or an older copy was put in its place",
    _RESTORE,
)
EDITED = Refusal(
    "the ledger {path} was edited: {where}",
    "its running hash does not match its rows, so what was spent cannot be trusted",
    _RESTORE,
)
UNLISTED = Refusal(
    "{who} has no budget",
    "the policy gives each analyst a budget by name",
    "ask as one of the analysts in [budget.analysts], or let the owner add one",
)
NOT_ALLOWED = Refusal(
    "{who} has no budget yet",
    "the policy lets them ask, and the ledger's entry does not: the smaller of the two holds",
    "the owner lets the policy's budget hold: `probe-sql ledger DB --budget`",
)
RETIRED = Refusal(
    "the ledger {path} was taken over, to {successor}",
    "two copies of one ledger would spend the same budget twice",
    "ask there; to come back, the owner runs `probe-sql ledger DB --adopt` here",
)
ORIGINAL_REMAINS = Refusal(
    "this ledger is a copy, and the original {path} cannot be ended",
    "it is still there, and would go on spending the same budget",
    "take the copy over as somebody who may write the original, or remove that first",
)
NEWER = Refusal(
    "the ledger {path} was written by a newer version of probe-sql",
    "this version might misread what was spent",
    "use the newer version",
)
NOT_OWNER = Refusal(
    "only the owner of the ledger {path} may {act}",
    "it belongs to another user of this machine",
    "ask the owner of the data to do it",
)
NOT_STOPPED = Refusal(
    "the user {user!r} has no failed scan",
    "failures count for the operating system's user or the login, not for an analyst's name",
    "{others}",
)
BAD_RECEIPT = Refusal(
    "this receipt does not allow a draw",
    "it is not an open reservation that this process made in this ledger: it was settled already,"
    " or comes from another ledger or process, or the ledger does not say that its scan is over",
    "reserve again",
)
NO_RECEIPT = Refusal(
    "without a receipt nothing can be drawn",
    "the ledger hands one out when it has durably charged a query",
    "reserve first",
)
USED_RECEIPT = Refusal(
    "this receipt does not allow a draw",
    "another query in this process has used it",
    "reserve again",
)
DAMAGED_ANCHOR = Refusal(
    "the ledger's anchor {path} is damaged",
    "it records how far the ledger had come, so the budget that is left cannot be trusted"
    " without it",
    "the owner of the data may restore it from a backup, or remove it and take the ledger over"
    " with `probe-sql ledger DB --adopt`",
)
NOT_KEPT = Refusal(
    "the ledger {path} does not keep what is written to it",
    "its file was edited by hand",
    _RESTORE_FILE,
)
UNWRITABLE = Refusal(
    "the ledger {path} cannot be written",
    "the file system says: {reason}",
    "make the ledger's directory exist and be writable, and free some space",
)
OTHER_FAILURE = Refusal(
    "the ledger {path} cannot be read or written",
    "SQLite reports a failure of the file (code {code})",
    "look for a full disk, a limit on file sizes or a failing device, and try again",
)
# By SQLite's codes; the others are told as OTHER_FAILURE.
FILE_FAILURES = {
    sqlite3.SQLITE_FULL: Refusal(
        "the ledger {path} cannot be written",
        "the disk is full",
        "free some space and try again",
    ),
    sqlite3.SQLITE_READONLY: Refusal(
        "the ledger {path} cannot be written",
        "the file or its directory is read-only",
        "make both writable for the user who asks: every query is charged before it is answered",
    ),
    sqlite3.SQLITE_CANTOPEN: Refusal(
        "the ledger {path} cannot be opened",
        "the file or its directory cannot be reached or written",
        "make both exist and writable for the user who asks",
    ),
    sqlite3.SQLITE_NOTADB: Refusal(
        "the ledger {path} is not a ledger",
        "the file was overwritten, or another file lies in its place",
        _RESTORE_FILE,
    ),
    sqlite3.SQLITE_CORRUPT: Refusal(
        "the ledger {path} is damaged",
        "the file was truncated or overwritten in part",
        _RESTORE_FILE,
    ),
    sqlite3.SQLITE_BUSY: Refusal(
        "the ledger {path} is busy",
        "another process held it for {seconds} seconds",
        "try again; if it stays so, look for a stopped process that has the file open",
    ),
}
SEVERAL_LEDGERS = Refusal(  # here and below {path} is the database's file
    "the file {path} has several names, and more than one of them has a ledger",
    "what was spent on the same rows is in {ledgers}",
    "the owner removes the link, or names one with ledger = '...' in the policy",
)
RENAMED = Refusal(
    "the file {path} was {before} before, and its ledger is still there",
    "it has the same rows under another name, so it has no budget of its own",
    "put it back; or the owner moves the ledger and its anchor along and runs"
    " `probe-sql ledger DB --adopt`, or names a ledger with ledger = '...' in the policy",
)
OTHER_NAMES = Refusal(
    "the file {path} has other names, and its ledger may lie beside one of them",
    "a hard link has the same rows, so it has no budget of its own",
    "open it by its first name, or name its ledger with ledger = '...' in the policy",
)
TOO_MANY_HOLDS = Refusal(
    "the user {user!r} has as much under way as the policy allows",
    "at most {holds} queries at once, which together may hold {holds} times the policy's"
    " per_query: what is held is missing for everybody else",
    "wait for the others to end{smaller}",
)


def no_file(path: Path, mode: int) -> LedgerError:
    """The error where the ledger's path leads to something that is no regular file."""
    kinds = ((stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    return NO_FILE.error(path, thing=next((what for is_a, what in kinds if is_a(mode)), "a device"))


def unlisted(analyst: str | None, *, by_policy: bool = False) -> LedgerError:
    """The error for an analyst whom the policy does not name, or the ledger's entry does not."""
    who = "a query without an analyst's name" if analyst is None else f"the analyst {analyst!r}"
    return (NOT_ALLOWED if by_policy else UNLISTED).error(who=who)


def not_stopped(user: str, others: Iterable[str]) -> LedgerError:
    """The error for a user without a failed scan, who needs no unlocking."""
    names = ", ".join(sorted(others))
    return NOT_STOPPED.error(
        user=user, others=f"unlock one of: {names}" if names else "nobody has one"
    )


def too_many_holds(user: str, holds: int, room: Loss, failure: Loss) -> LedgerError:
    """The error for a user with too much under way; `room` is what one more query may hold."""
    fits = room.units and not room < failure
    smaller = f", or set epsilon = {_askable(room, failure)} or less" if fits else ""
    return TOO_MANY_HOLDS.error(user=user, holds=holds, smaller=smaller)


def stopped(user: str, charged: float | None = None) -> Stopped:
    """A user of the machine, or who logged in, had as many failed scans as the policy allows.

    `charged` is the price of a scan that was under way when they were stopped.
    """
    why = "a scan failed that no public fact explains, and failures are not covered by epsilon"
    if charged is not None:
        why += f"; this one was under way, so it is charged: epsilon {price(charged)}"
    return Stopped(
        f"the user {user!r} may not ask until the owner of the data has looked",
        why=why,
        fix=f"the owner looks at `probe-sql ledger DB`, then runs it with `--unlock"
        f" {shlex.quote(user)}`",
    )


@dataclass(frozen=True, slots=True)
class Shortage:
    """The period in which too little is left, by its first day: None where all are meant.

    `enough` are the days of periods that have enough, `within` says whether the question pays them.
    """

    limit: PeriodLimit
    day: date | None
    enough: Span | None
    within: bool

    @property
    def whose(self) -> str:
        """Whose budget does not suffice."""
        column, every = self.limit.column, self.limit.every
        if self.day is None:
            return f"each {every} of {column}"
        return f"the {every} {name_of(first_of(self.day, every), every)} of {column}"

    @property
    def fix(self) -> str:
        """Which dates could be asked about instead, where there are some."""
        if self.enough is None:
            return ""
        dates = condition(self.limit.column, self.enough)
        return f"ask about {'these' if self.within else 'other'} dates alone, {dates}; or "


def exhausted(
    *,
    asked: Loss,
    left: Loss,
    failure: Loss,
    analyst: str | None,
    withheld: bool = False,
    period: Shortage | None = None,
) -> BudgetExhausted:
    """The error for a query above the budget that is left; `analyst` where it is their own.

    `withheld`: the policy allows more than the ledger's entry does. `period`: what is left is that
    of a period.
    """
    whose = "the database" if analyst is None else f"the analyst {analyst!r}"
    whose = whose if period is None else period.whose
    if not left.units:
        fix = "the budget is spent; only the owner of the data may raise it"
    elif left < failure:
        fix = (
            f"none: a scan must be able to pay for its failure, {failure};"
            " only the owner of the data may raise the budget"
        )
    else:
        enough = _askable(left, failure)
        fix = f"set epsilon = {enough} or less, or let the owner raise the budget"
    if withheld:
        fix += "; the policy allows more than the ledger's entry does, and the smaller of the two"
        fix += " holds until the owner runs `probe-sql ledger DB --budget`"
    if period is not None:
        fix = period.fix + fix.removeprefix("none: ")
    error = BudgetExhausted(
        f"the query may cost epsilon {_told(asked)}, and {_told(left)} of the budget of {whose}"
        " remains",
        why="nothing was drawn and nothing was charged",
        fix=fix,
    )
    error.days = period.enough if period is not None and period.within else None
    return error


def _askable(left: Loss, failure: Loss) -> Loss:
    """What is left, in three decimals where they suffice for a query."""
    short = Loss.allowed(math.floor(left.epsilon * 1000) / 1000)
    return left if short < failure or not short.units else short


def _told(loss: Loss) -> str:
    """A loss in three decimals, and in all of them where three would say nothing."""
    return str(loss) if loss.epsilon < 0.001 else limit(loss.epsilon)
