"""Jupyter and IPython: `%load_ext probe_sql`, then `%probe` and `%%probe`.

A query in a cell spends as `Connection.sql` does, and shows its answer as a card. Errors show their
underlined message, and no traceback (`ProbeError._render_traceback_`).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from probe_sql.errors import InterfaceError, ProbeError, Span
from probe_sql.session import Connection, RemoteConnection, connect

_USAGE = """\
%probe connect SOURCE [POLICY] [analyst=NAME]   a database, file, server or Python variable
%probe use NAME                                 a connection that a variable holds
%probe SELECT ...                               ask, on one line
%probe explain SELECT ...                       what it would cost; free
%probe budget | ledger | saved | tables | policy | close
%%probe [into NAME] [option=value ...]          ask what the cell holds; :name is a variable"""
_NAMES = ("budget", "ledger", "saved", "policy")
# Texts, quoted names and comments of SQL, in which a colon names nothing; `::` is a cast.
_VARIABLE = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|::|:([A-Za-z_][A-Za-z0-9_]*)", re.S
)


class Magics:
    """The magics of one IPython, with the connection that they ask."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._connection: Connection | RemoteConnection | None = None

    def line(self, line: str) -> Any:
        """`%probe`: one command, or a query on a line."""
        word, _, rest = line.strip().partition(" ")
        rest = rest.strip()
        match word.lower():
            case "" | "help":
                print(_USAGE)
                return None
            case "connect":
                return self._connect(rest)
            case "use":
                return self._use(rest)
            case "close":
                self._open().close()
                self._connection = None
                return None
            case "tables":
                return self._open().catalogue
            case name if name in _NAMES and not rest:
                found = getattr(self._open(), name)
                return found() if callable(found) else found
            case "explain":
                return self._explain(rest)
            case _:
                return self._ask(line, {})

    def cell(self, line: str, cell: str) -> Any:
        """`%%probe`: the query that the cell holds; `into NAME` puts the answer into a variable."""
        words = _split(line)
        into = None
        if words and words[0] == "into" and len(words) > 1:
            into, words = words[1], words[2:]
            if not into.isidentifier():
                raise InterfaceError(f"{into} is no name of a variable", fix="%%probe into answer")
        explain = bool(words) and words[0] == "explain"
        options = _options(words[1:] if explain else words)
        found = self._explain(cell, options) if explain else self._ask(cell, options)
        if into is None:
            return found
        self._shell.user_ns[into] = found
        return None

    def _connect(self, rest: str) -> None:
        words = _split(rest)
        named = [word for word in words if _is_option(word)]
        places = [self._value(word) for word in words if word not in named]
        options = _options(named)
        if not 1 <= len(places) <= 2 or set(options) - {"analyst", "ledger"}:
            raise InterfaceError(
                "%probe connect takes a source and a policy",
                fix="%probe connect clinic.duckdb clinic.toml analyst=maria",
            )
        self._connection = connect(*places, **options)
        print(f"connected; ε {self._connection.budget.remaining:.3f} left")

    def _use(self, name: str) -> None:
        found = self._shell.user_ns.get(name)
        if not hasattr(found, "sql") or not hasattr(found, "budget"):
            raise InterfaceError(f"no variable {name!r} holds a connection", fix="%probe use db")
        self._connection = found

    def _value(self, word: str) -> Any:
        """A variable of the notebook where `{name}` is written, else the word."""
        if word.startswith("{") and word.endswith("}"):
            return self._variable(word[1:-1], None)
        return word

    def _explain(self, query: str, options: Mapping[str, Any] | None = None) -> Any:
        sql, values = self._bound(query)
        return self._open().explain(sql, values, **(options or {}))

    def _ask(self, query: str, options: Mapping[str, Any]) -> Any:
        sql, values = self._bound(query)
        return self._open().sql(sql, values, **options)

    def _bound(self, query: str) -> tuple[str, list[Any]]:
        """The query with `?` for each `:name`, and the variables in their order.

        They travel as parameters: no text of a variable becomes SQL.
        """
        values: list[Any] = []

        def taken(match: re.Match[str]) -> str:
            name = match.group(1)
            if name is None:
                return match.group()
            values.append(self._variable(name, Span(*match.span()), query))
            return "?"

        return _VARIABLE.sub(taken, query), values

    def _variable(self, name: str, span: Span | None, query: str = "") -> Any:
        if name in self._shell.user_ns:
            return self._shell.user_ns[name]
        error: ProbeError = InterfaceError(
            f"the notebook has no variable {name}", fix=f"{name} = ... in a cell before"
        )
        error.span = span
        raise error.located(query) if span is not None else error

    def _open(self) -> Connection | RemoteConnection:
        if self._connection is None:
            raise InterfaceError(
                "nothing is connected",
                fix="%probe connect clinic.duckdb clinic.toml, or %probe use db",
            )
        return self._connection


def load(shell: Any) -> None:
    """Register the magics with an IPython."""
    magics, name = Magics(shell), __name__.partition("_")[0]
    shell.register_magic_function(magics.line, "line", name)
    shell.register_magic_function(magics.cell, "cell", name)


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise InterfaceError(f"the line cannot be read: {error}", fix=_USAGE) from None


def _is_option(word: str) -> bool:
    return re.match(r"[a-z_]+=", word) is not None


def _options(words: list[str]) -> dict[str, Any]:
    """Options as they are written: numbers are numbers, true and false are truth values."""
    found: dict[str, Any] = {}
    for word in words:
        if not _is_option(word):
            raise InterfaceError(f"{word} is no option", fix="write fdr=0.1 epsilon=0.5")
        name, _, text = word.partition("=")
        found[name] = _typed(text)
    return found


def _typed(text: str) -> Any:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
