"""Every error that leaves the engine: one hierarchy, rooted in `ProbeError`.

A message says what is wrong, where (underlined in the SQL), why, and what would
work. No error ever quotes a value from private data. An error after a scan has begun
costs what the policy says, and names that.
The names of PEP 249 are members of the same hierarchy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from probe_sql.text import plural, visible, visible_lines

_LONGEST = 160  # characters of a line of SQL in a message


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of characters in the analyst's SQL text."""

    start: int
    end: int


class ProbeError(Exception):
    """Root of all errors; `what`, `why`, `fix` are complete sentences for people.

    `instead` is SQL that can stand where the underlined text stands: with it the query is accepted,
    as far as this error goes. It is made of the query and the policy at hand.
    """

    def __init__(
        self,
        what: str,
        *,
        why: str | None = None,
        fix: str | None = None,
        sql: str | None = None,
        span: Span | None = None,
        instead: str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.why = why
        self.fix = fix
        self.instead = instead
        if fix is None and instead is not None:
            self.fix = f"write {instead}" if instead else "leave it out"
        self.sql = sql
        self.span = span
        self.released: Mapping[str, Any] = {}
        """Answers of private blocks that were charged before this went wrong, by their names."""

    def located(self, sql: str) -> ProbeError:
        """Attach the SQL text, so that the span can be shown; return self."""
        if self.sql is None:
            self.sql = sql
        return self

    def repaired(self) -> str | None:
        """The query with `instead` in the place of what is underlined, if there is both."""
        if self.instead is None or self.span is None or self.sql is None:
            return None
        return f"{self.sql[: self.span.start]} {self.instead} {self.sql[self.span.end :]}"

    def __str__(self) -> str:
        """The message for people: names and text of others cannot steer a terminal."""
        return self.message()

    def message(self, limit: int = _LONGEST) -> str:
        """The message for people, its line of the query cut to `limit` characters."""
        lines = [self._headline()]
        if self.sql is not None and self.span is not None:
            lines.append(underline(self.sql, self.span, limit))
        if self.why:
            lines.append(f"why: {visible(self.why)}")
        if self.fix:
            lines.append(f"fix: {visible(self.fix)}")
        return "\n".join(lines)

    def _headline(self) -> str:
        return visible(self.what)

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback: the message, which is all that helps."""
        return [f"{type(self).__name__}: {self}"]


def underline(sql: str, span: Span, limit: int = _LONGEST) -> str:
    """Show the line of `sql` that holds `span`, numbered, with carets below it.

    What does not show itself is spelled out, and the carets stand below what is spelled. A line of
    more than `limit` characters is cut to a window around them.
    """
    start = max(0, min(span.start, len(sql)))
    end = max(start, min(span.end, len(sql)))
    line_start = sql.rfind("\n", 0, start) + 1
    line_end = sql.find("\n", start)
    line_end = len(sql) if line_end < 0 else line_end
    number = str(sql.count("\n", 0, line_start) + 1)
    before, marked, after = (
        visible(part.replace("\t", " "))
        for part in (
            sql[line_start:start],
            sql[start : min(end, line_end)],
            sql[max(start, min(end, line_end)) : line_end],
        )
    )
    line = before + marked + after
    width = max(1, len(marked))
    offset, room = len(before), max(limit - len(number) - 3, 20)
    if len(line) > room:  # the mark must stay in sight
        cut = max(0, min(offset - room // 3, len(line) - room + 3))
        cut = 0 if offset + width < room - 3 else cut
        head = "..." if cut else ""
        body = line[cut : cut + room - len(head)]
        if cut + len(body) < len(line):
            body = body[:-3] + "..."
        line = head + body
        offset = offset - cut + len(head)
        width = max(1, min(width, len(line) - offset))
    gutter = " " * len(number)
    return f"{gutter} |\n{number} | {line}\n{gutter} | {' ' * offset}{'^' * width}"


# --- PEP 249 -------------------------------------------------------------------------


class Warning(Exception):  # noqa: A001 - the name is PEP 249's
    """PEP 249 warning; kept for tools that look it up."""


Error = ProbeError


class InterfaceError(ProbeError):
    """Wrong use of the API itself: a closed connection, an unknown argument."""


class DatabaseError(ProbeError):
    """PEP 249 parent of everything about the database or the query."""


class DataError(DatabaseError):
    """PEP 249 name; values supplied by the caller that do not fit."""


class OperationalError(DatabaseError):
    """Outside the analyst's control: files, locks, budget, the scan."""


class IntegrityError(DatabaseError):
    """PEP 249 name."""


class InternalError(DatabaseError):
    """A broken invariant of the engine."""


class ProgrammingError(DatabaseError):
    """The query, the policy or the arguments are wrong."""


class NotSupportedError(DatabaseError):
    """PEP 249 parent of refusals."""


# --- the engine's own ----------------------------------------------------------------


class SqlError(ProgrammingError):
    """The SQL is malformed, or names something that does not exist or does not fit."""


class Refused(NotSupportedError):
    """The SQL is understood, or not fully, and is outside the dialect: fail closed."""


class AccuracyError(ProgrammingError):
    """An accuracy option is unknown, of the wrong type, or out of range."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a policy: its path in the file, what is wrong, and a fix."""

    path: str
    what: str
    fix: str
    line: int | None = None

    def __str__(self) -> str:
        at = self.path if self.line is None else f"line {self.line}, {self.path}"
        return f"{visible(at)}: {visible(self.what)}\n    fix: {visible(self.fix)}"


class PolicyError(ProgrammingError):
    """All problems of a policy, reported together."""

    def __init__(self, problems: Sequence[Problem], source: str = "policy") -> None:
        self.problems = tuple(problems)
        self.source = source
        listing = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"{source}: {plural(len(self.problems), 'problem')}\n{listing}")

    def _headline(self) -> str:
        return visible_lines(self.what)  # the problems are lines of their own


class ScanError(OperationalError):
    """The database failed during the scan; the text is ours, never the database's.

    `failure` is its class, for the ledger.
    """

    def __init__(
        self, what: str, *, why: str | None = None, fix: str | None = None, failure: str = "other"
    ) -> None:
        super().__init__(what, why=why, fix=fix)
        self.failure = failure


class Interrupted(OperationalError):
    """The analyst cancelled; the message says whether anything was charged."""


class LedgerError(OperationalError):
    """The ledger is missing, copied, edited, truncated or cannot be written."""


class BudgetExhausted(OperationalError):
    """The remaining budget does not cover the query; nothing was drawn or charged.

    `days` are those of a question about less, whose periods have enough, where a period has not.
    """

    days: tuple[date, date] | None = None


class Stopped(OperationalError):
    """Scans of this user failed, and the owner has not looked yet.

    Nothing was charged, unless the message says that the scan was under way.
    """
