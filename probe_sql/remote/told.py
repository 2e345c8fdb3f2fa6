"""What a server is sent, and what it says as Python has it: answers, explanations, and errors."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from probe_sql import errors
from probe_sql.answer import Answer, Denied, Privacy
from probe_sql.answer.content import Line, Replayed, Row
from probe_sql.card import card, preformatted
from probe_sql.errors import OperationalError, ProbeError, Span
from probe_sql.loss import Loss
from probe_sql.measuring import Step
from probe_sql.plan.plan_card import plan_card
from probe_sql.text import limit

# Texts, quoted names and comments, in which a question mark is no parameter.
_PARAMETER = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|(\?)", re.S)


_EXPLAIN = re.compile(r"(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*+\*/)*+EXPLAIN\b", re.IGNORECASE)
_AS_JSON = " (FORMAT JSON) "


def numbered(query: str, *, explain: bool = False) -> tuple[str, list[tuple[int, int]]]:
    """The query with $1, $2 for its question marks, and where how many characters came in.

    A plan is asked for as JSON, where the query begins with EXPLAIN or `explain` says so.
    """
    shifts: list[tuple[int, int]] = []
    explained = _EXPLAIN.match(query)
    start = explained.end() if explained is not None else 0
    head = query[:start]
    if explain or explained is not None:
        words = _AS_JSON if explained is not None else f"EXPLAIN{_AS_JSON}"
        shifts.append((start, len(words)))
        head += words
    count = 0

    def number(match: re.Match[str]) -> str:
        nonlocal count
        if match.group(1) is None:
            return match.group()
        count += 1
        shifts.append((start + match.end(), len(str(count))))
        return f"${count}"

    return head + _PARAMETER.sub(number, query[start:]), shifts


def move_span(error: ProbeError, query: str, shifts: Sequence[tuple[int, int]]) -> None:
    """Move the span of an error from the text that was sent to the one that was written."""
    if error.span is None:
        return
    start = error.span.start
    for at, length in shifts:
        if at <= start:
            start = max(at, start - length)
    word = re.match(r"\w+|.", query[start:], re.S)
    error.span = Span(start, start + (len(word.group()) if word else 1))
    error.located(query)


def words_of(query: str) -> str:
    """A query without blanks, and without the two ways to write a parameter."""
    return re.sub(r"\s+|\?|\$[0-9]+", "", query)


DENIED = "PS001"
_STATES: Mapping[str, type[ProbeError]] = {
    "22000": errors.DataError, "22023": errors.AccuracyError, "42601": errors.SqlError,
    "0A000": errors.Refused, "53400": errors.BudgetExhausted, "55000": errors.Stopped,
    "57014": errors.Interrupted, "58030": errors.LedgerError,
}  # fmt: skip


class RemoteExplanation:
    """EXPLAIN as the server says it: the text, and the figures by the names that a file's has."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._text = str(told["text"])
        self._card = told.get("card")
        self._figures = {name: told[name] for name in told if name not in ("text", "card")}

    def __getattr__(self, name: str) -> Any:
        """A figure of the plan, `epsilon_worst` or `groups` say."""
        figures = vars(self).get("_figures", {})
        if name not in figures:
            raise AttributeError(f"a served plan has no {name}; as_dict() has what there is")
        return figures[name]

    def as_dict(self) -> dict[str, Any]:
        """EXPLAIN as JSON-ready values."""
        return copy.deepcopy(self._figures)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return str(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """The text, with its lines."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        lines = str(self).split("\n")
        if self._card is None:
            title = f"At most ε {limit(self.epsilon_worst)} is charged in all"
            return str(card(title, preformatted(lines)))
        return plan_card(self._card, self._figures["guarantee"], lines)


def error_of(error: Any) -> ProbeError:
    """An error of the server as the one that a file would raise."""
    state, said = error.sqlstate, error.diag
    if state is None:
        return OperationalError("the connection to the server was lost", fix="connect again")
    kind = _STATES.get(state, OperationalError)
    found = kind(
        said.message_primary or "the server refused", why=said.message_detail, fix=said.message_hint
    )
    if said.statement_position:
        place = int(said.statement_position) - 1
        found.span = Span(place, place + 1)
    return found


def answer_of(told: Mapping[str, Any], rows: Sequence[Row]) -> Answer:
    """An answer from its JSON; keys that JSON has no type for are those of the wire."""
    privacy = told["privacy"]
    replay = privacy.get("replay")
    found = Privacy(
        Loss.asked(privacy["epsilon"]) if privacy["epsilon"] else Loss.NOTHING,
        privacy["epsilon_max"],
        privacy["fnr"],
        privacy["fpr"],
        privacy["algorithm"],
        privacy["remaining"],
        privacy["guarantee"],
        privacy["unit"],
        privacy["min_entropy"],
        tuple(Step(**step) for step in told.get("trace", ())),
        fdr=privacy["fdr"],
        sentence=privacy["sentence"],
        replay=None if replay is None else Replayed(**replay),
    )
    columns = tuple(told["columns"])
    if told["status"] == "denied":
        notices = tuple(told.get("notices", ()))
        return Denied(columns, (), (), found, notices, reason=told["reason"])
    shown = _typed(told["rows"], rows)
    return Answer(
        columns,
        shown,
        _table(told.get("margins"), columns, shown),
        found,
        tuple(told.get("notices", ())),
        tuple(told.get("marks", ())),
        told.get("confidence"),
        tuple(told.get("below", ())),
        _typed(told.get("raw", told["rows"]), rows),
        tuple(told.get("derived", ())),
        tuple(blocks_of(told).items()) if "blocks" in told else None,
        ranks=_table(told["ranks"], columns, shown) if "ranks" in told else (),
        lines=tuple(Line(*line) for line in told.get("lines", ())),
    )


def blocks_of(told: Mapping[str, Any]) -> dict[str, Answer]:
    return {block["name"]: answer_of(block, ()) for block in told.get("blocks", ())}


def _typed(found: Sequence[Sequence[Any]], rows: Sequence[Row]) -> tuple[Row, ...]:
    """Rows of JSON; where it has a text, the value that came over the wire, a date say."""
    wire = rows or found
    return tuple(
        tuple(other if isinstance(one, str) else one for one, other in zip(line, sent, strict=True))
        for line, sent in zip(found, wire, strict=True)
    )


def same(found: Sequence[Sequence[Any]], rows: Sequence[Row]) -> bool:
    """Whether rows of JSON are those that came over the wire, as far as texts tell it."""
    return len(found) == len(rows) and all(
        not isinstance(one, str | int) or one == other or str(one) == str(other)
        for line, sent in zip(found, rows, strict=True)
        for one, other in zip(line, sent, strict=True)
    )


def _table(
    found: Sequence[Sequence[Any]] | None, columns: Sequence[str], rows: Sequence[Row]
) -> tuple[tuple[Any, ...], ...]:
    if found is None:
        return tuple((None,) * len(columns) for _ in rows)
    return tuple(tuple(line) for line in found)
