"""Where statements end: at a `;` that is in no string, name or comment."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from probe_sql.errors import InterfaceError

_TOKEN = re.compile(
    r"""
    (?P<quoted>'(?:[^']|'')*' | "(?:[^"]|"")*")
  | (?P<unclosed>['"])
  | (?P<line>--[^\n]*)
  | (?P<block>/\*)
  | (?P<end>;)
  | (?P<space>\s+)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_QUIT = frozenset({"quit", "exit", "\\q"})


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement or dot command: its text, the line it starts at, whether `;` closed it."""

    text: str
    line: int
    closed: bool

    @property
    def dotted(self) -> bool:
        """Whether this is a command to the shell and not SQL."""
        return self.text.startswith(".") or self.text.lower() in _QUIT


def read_script(path: str) -> str:
    """The text of a file of statements."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InterfaceError(f"{path} cannot be read: {reason}", fix="check the path") from None


def split(text: str) -> Iterator[Statement]:
    """The statements of a text in order; the last may lack its `;`.

    A dot command is a line of its own, at a place where a statement may begin.
    """
    position = 0
    while (position := _skip_blank(text, position)) < len(text):
        line = text.count("\n", 0, position) + 1
        rest = text[position:].partition("\n")[0].strip()
        if rest.startswith(".") or rest.rstrip(";").strip().lower() in _QUIT:
            position += len(text[position:].partition("\n")[0])
            yield Statement(rest.rstrip(";").strip() or rest, line, True)
            continue
        end, closed = _end(text, position)
        body = text[position:end].strip()
        position = end + 1 if closed else end
        if body:
            yield Statement(body, line, closed)


def complete(text: str) -> bool:
    """Whether Enter should run the text: it is blank, or its last statement is closed."""
    found = list(split(text))
    return not found or found[-1].closed


def _skip_blank(text: str, position: int) -> int:
    """The next index that is neither space, comment, nor an empty statement's `;`."""
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None
        if match.lastgroup in ("space", "line", "end"):
            position = match.end()
        elif match.lastgroup == "block" and (end := _block_end(text, position)) is not None:
            position = end
        else:
            break
    return position


def _end(text: str, position: int) -> tuple[int, bool]:
    """Index of the `;` that ends the statement at `position`, or of the end of the text."""
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match is not None
        if match.lastgroup == "end":
            return position, True
        if match.lastgroup == "unclosed":
            return len(text), False
        if match.lastgroup == "block":
            end = _block_end(text, position)
            if end is None:
                return len(text), False
            position = end
        else:
            position = match.end()
    return len(text), False


def _block_end(text: str, position: int) -> int | None:
    """Index after a block comment, which may hold others; None if it is not closed."""
    depth = 0
    for mark in re.finditer(r"/\*|\*/", text[position:]):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return position + mark.end()
    return None
