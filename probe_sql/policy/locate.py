"""Line numbers of the keys of a TOML document, which tomllib does not tell.

Works on text that tomllib has accepted, so it only has to know where keys and values
begin and end: headers, dotted keys, inline tables, lists, strings of all four kinds.
"""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from typing import Any

from probe_sql.policy.names import dotted

_BLANK = re.compile(r"(?:[\s,]|#[^\n]*)*")
_KEY = re.compile(r"""(?:"(?:\\.|[^"\\])*"|'[^']*'|[^"'=\]])*""")
_PART = re.compile(r"""\.?(?:"(?:\\.|[^"\\])*"|[^".\[]+)|\[\d+\]""")  # of a dotted path
_SCALAR = re.compile(
    r'''"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?'{3,5}|"(?:\\.|[^"\\])*"|'[^']*'|[^,\]}\n#]+''',
    re.DOTALL,
)


class Lines:
    """Where each key of a document stands: `find("tables.patients.unit")` is its line."""

    __slots__ = ("_counts", "_lines", "_newlines", "_position", "_text")

    def __init__(self, text: str) -> None:
        self._text = text.replace("\r\n", "\n")
        self._newlines = [i for i, char in enumerate(self._text) if char == "\n"]
        self._lines: dict[str, int] = {}
        self._counts: dict[str, int] = {}
        self._position = 0
        try:
            self._document()
        except RecursionError:
            self._lines.clear()

    def find(self, where: str) -> int | None:
        """Line of the key, or of the nearest key above it that is there; else None."""
        above = (where[: part.end()] for part in _PART.finditer(where))
        known = [self._lines[path] for path in above if path in self._lines]
        return known[-1] if known else None

    def _document(self) -> None:
        base: tuple[str | int, ...] = ()
        while self._skip():
            start = self._position
            if self._text[start] == "[":
                double = self._text.startswith("[[", start)
                self._position += 2 if double else 1
                base = self._header(self._key(), double)
                self._note(base, start)
                self._position += 2 if double else 1
            else:
                self._pair(base)

    def _header(self, names: list[str], double: bool) -> tuple[str | int, ...]:
        """Path of a header; below a list of tables it means the list's latest one."""
        path: tuple[str | int, ...] = ()
        for depth, name in enumerate(names):
            path += (name,)
            key = dotted(*path)
            if double and depth == len(names) - 1:
                self._counts[key] = self._counts.get(key, -1) + 1
            if key in self._counts:
                path += (self._counts[key],)
        return path

    def _pair(self, base: tuple[str | int, ...]) -> None:
        start = self._position
        path = (*base, *self._key())
        self._note(path, start)
        self._position += 1  # the equals sign
        self._skip()
        self._value(path)

    def _value(self, path: tuple[str | int, ...]) -> None:
        opening = self._text[self._position]
        if opening == "[":
            self._position += 1
            index = 0
            while self._skip() and self._text[self._position] != "]":
                self._note((*path, index), self._position)
                self._value((*path, index))
                index += 1
            self._position += 1
        elif opening == "{":
            self._position += 1
            while self._skip() and self._text[self._position] != "}":
                self._pair(path)
            self._position += 1
        else:
            self._advance(_SCALAR)

    def _key(self) -> list[str]:
        """Read a dotted key; tomllib itself undoes its quotes and escapes."""
        node: Any = tomllib.loads(self._advance(_KEY).strip() + " = 0")
        names: list[str] = []
        while isinstance(node, dict):
            ((name, node),) = node.items()
            names.append(name)
        return names

    def _skip(self) -> bool:
        """Pass blanks, comments and commas; False at the end of the text."""
        self._advance(_BLANK)
        return self._position < len(self._text)

    def _advance(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._position)
        assert match is not None
        self._position = match.end()
        return match[0]

    def _note(self, path: tuple[str | int, ...], position: int) -> None:
        """Keep the first line at which a key, or a table above it, is mentioned."""
        line = bisect_right(self._newlines, position - 1) + 1
        for depth in range(1, len(path) + 1):
            self._lines.setdefault(dotted(*path[:depth]), line)
