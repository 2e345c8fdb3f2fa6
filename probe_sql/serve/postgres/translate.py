"""Questions to PostgreSQL's catalogue in DuckDB's words, token by token.

What is called must be on a list, so that nothing but the catalogue's tables can be read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from probe_sql.errors import NotSupportedError
from probe_sql.serve.postgres import types
from probe_sql.serve.postgres.catalogue_tables import (
    EMPTY,
    FILLED,
    FUNCTIONS,
    MACROS,
    OWN_MACROS,
    RENAMED,
    TABLES,
    UNKNOWN,
)
from probe_sql.serve.postgres.settings import OWN
from probe_sql.serve.postgres.statements import SCHEMAS, Statement, Token

_CALLABLE = FUNCTIONS | {name for name, _, _ in MACROS} | set(OWN_MACROS)
_TABLES = FILLED.keys() | EMPTY.keys()
_CLAUSES = frozenset(
    {"SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "ON", "LIMIT", "VALUES"}
)
_FROM_ZERO = ("indkey", "indclass", "indoption", "indcollation")  # vectors of PostgreSQL begin at 0
_SETS = ("generate_series", "generate_subscripts")  # rows in a SELECT list, where DuckDB has lists
_USERS = ("CURRENT_USER", "SESSION_USER", "USER")
_CASTS = {
    "oid": "BIGINT", "xid": "BIGINT", "name": "VARCHAR", "regtype": "VARCHAR",
    "regproc": "VARCHAR", "regnamespace": "VARCHAR", "regrole": "VARCHAR",
    "regprocedure": "VARCHAR", "cstring": "VARCHAR", "int2vector": "BIGINT[]",
    "oidvector": "BIGINT[]", "cardinal_number": "INTEGER", "sql_identifier": "VARCHAR",
    "character_data": "VARCHAR", "yes_or_no": "VARCHAR",
}  # fmt: skip
_AFTER_FROM = frozenset({"JOIN", "LEFT", "RIGHT", "INNER", "CROSS", "FULL", "UNION", "USING"})
_SIGNS = frozenset("<>=!|~*-+/%&^#@")
_END = Token("sign", "", 0, 0)


def translated(given: Statement, user: str) -> str:
    """The statement as DuckDB understands it; a function that is not listed is refused."""
    return _Translation(given, user).text()


@dataclass(slots=True)
class _Group:
    """A parenthesis or bracket that is open: where it began, and what is put where it closes."""

    start: int
    close: str = ""
    cast: bool = False
    clause: str = ""
    alias: bool = False  # a function in FROM, whose alias names its column too


class _Translation:
    """Goes through the tokens; each rule says how many it took, 0 where it does not apply."""

    def __init__(self, given: Statement, user: str) -> None:
        self._tokens = given.tokens
        self._user = "'" + user.replace("'", "''") + "'"
        self._at = 0
        self._parts: list[str] = []
        self._open = [_Group(0)]
        self._closed: _Group | None = None  # the one that the last part closed

    def text(self) -> str:
        rules = (
            self._operator,
            self._collation,
            self._cast,
            self._schema,
            self._call,
            self._table,
            self._list,
            self._pattern,
            self._bracket,
        )
        while self._at < len(self._tokens):
            word = self._ahead().upper
            if word in _CLAUSES:
                self._open[-1].clause = word
            self._at += next((taken for rule in rules if (taken := rule())), 0) or self._keep()
        return " ".join(part for part in self._parts if part)

    def _ahead(self, tokens: int = 0) -> Token:
        index = self._at + tokens
        return self._tokens[index] if index < len(self._tokens) else _END

    def _last(self) -> str:
        return self._parts[-1] if self._parts else ""

    def _put(self, text: str, taken: int) -> int:
        self._parts.append(text)
        self._closed = None
        return taken

    def _keep(self) -> int:
        """A token as it is; signs that touched do so again."""
        token = self._ahead()
        if token.text == "(":
            self._open.append(_Group(len(self._parts)))
        elif token.text == ")" and len(self._open) > 1:
            return self._end(")")
        before = self._tokens[self._at - 1] if self._at else _END
        touching = bool(self._parts) and before.end == token.start and before is not _END
        signs = before.text in _SIGNS and token.text in _SIGNS
        if touching and (signs or "." in (before.text, token.text)):
            self._parts[-1] += token.text
            return 1
        return self._put(token.text, 1)

    def _end(self, sign: str) -> int:
        """Close a parenthesis or bracket."""
        group = self._open.pop()
        self._put(group.close + sign, 1)
        self._closed = group
        if not group.alias:
            return 1
        skip = 2 if self._ahead(1).upper == "AS" else 1
        name = self._ahead(skip)
        if name.kind not in ("word", "name") or name.upper in _CLAUSES | _AFTER_FROM:
            return 1
        if self._ahead(skip + 1).text == "(":
            return self._put(f"AS {name.text}", skip + 1)
        return self._put(f"AS {name.text}({name.text})", skip + 1)

    def _enter(self, text: str, taken: int, **more: Any) -> int:
        """Open a parenthesis behind a function."""
        self._open.append(_Group(len(self._parts), **more))
        return self._put(text, taken)

    def _operator(self) -> int:
        """OPERATOR(pg_catalog.~) is ~."""
        if self._ahead().upper != "OPERATOR" or self._ahead(2).value != "pg_catalog":
            return 0
        signs, taken = "", 4
        while self._ahead(taken) is not _END and self._ahead(taken).text != ")":
            if not set(self._ahead(taken).text) <= _SIGNS:
                raise NotSupportedError(
                    "an operator is made of signs", fix="OPERATOR(pg_catalog.~)"
                )
            signs += self._ahead(taken).text
            taken += 1
        return self._put(signs, taken + 1)

    def _collation(self) -> int:
        """Everything is compared byte by byte."""
        if self._ahead().upper != "COLLATE":
            return 0
        return 4 if self._ahead(2).text == "." else 2

    def _cast(self) -> int:
        """Casts to types that DuckDB does not have; a class is looked up by its name.

        AS is a cast inside of CAST( ... ), and names a column elsewhere.
        """
        double = self._ahead().text == ":" and self._ahead(1).text == ":"
        group = self._open[-1]
        if not double and not (self._ahead().upper == "AS" and group.cast):
            return 0
        skip = 2 if double else 1
        named = self._ahead(skip).value in ("pg_catalog", "information_schema")
        at = skip + 2 if named else skip
        name = self._ahead(at).value.lower()
        if name == "regclass":
            start = group.start if not double else self._start_of_last()
            self._parts[start] = ("" if not double else "probe_regclass(") + self._parts[start]
            if double:
                return self._put(")", at + 1)
            self._parts[start] = "probe_regclass("
            return at + 1
        if named or name in _CASTS:
            return self._put(("::" if double else "AS ") + _CASTS.get(name, name), at + 1)
        return self._put("::" if double else "AS", skip)

    def _start_of_last(self) -> int:
        """Where the expression begins that the last part ends."""
        return len(self._parts) - 1 if self._closed is None else self._closed.start

    def _schema(self) -> int:
        """A schema before a table is ours; before a function it is left out."""
        schema = self._ahead().value.lower() + "."
        if self._ahead().kind == "string" or schema not in SCHEMAS or self._ahead(1).text != ".":
            return 0
        if self._ahead(3).text == "(":
            return 2 + self._call(2)
        name = self._ahead(2)
        if schema == OWN and name.value in ("budget", "ledger"):
            return self._put(f"probe_{name.value}", 3)
        return self._put(f"{SCHEMAS[schema]}.{name.text}", 3)

    def _call(self, skip: int = 0) -> int:
        """A function by a name that is listed, or the user, who is one in PostgreSQL."""
        token = self._ahead(skip)
        if token.kind not in ("word", "name"):
            return 0
        name = token.value.lower()
        if (
            token.upper in _USERS
            and self._ahead(skip + 1).text != "."
            and self._last().upper() != "AS"
        ):
            return self._put(self._user, 1)
        if self._ahead(skip + 1).text != "(":
            return 0
        if name in UNKNOWN:
            return self._put("NULL::INTEGER", self._balanced(skip + 1) - skip)
        if name in TABLES:
            return self._put(f"pgc.{name}", self._balanced(skip + 1) - skip)
        # Behind AS or a parenthesis it is the name of a table, with those of its columns.
        if self._last().upper() == "AS" or self._last().endswith(")"):
            return self._enter(token.text + "(", 2)
        if name not in _CALLABLE and name not in RENAMED:
            raise NotSupportedError(
                f"the function {name} is not in the catalogue",
                fix=f"SELECT * FROM {OWN}columns shows what can be asked",
            )
        called = RENAMED.get(name, token.text)
        clause = self._open[-1].clause
        if clause == "FROM" and name in (*_SETS, "string_to_array", "unnest"):
            if name == "string_to_array":
                return self._enter(f"(SELECT {called}(", 2, close=")", alias=True)
            return self._enter(called + "(", 2, alias=True)
        if name in _SETS and clause == "SELECT":
            return self._enter(f"unnest({called}(", 2, close=")")
        return self._enter(called + "(", 2, cast=name in ("cast", "try_cast"))

    def _balanced(self, opening: int) -> int:
        """How many tokens there are up to the parenthesis that closes the one at `opening`."""
        depth, at = 0, opening
        while self._ahead(at) is not _END:
            depth += {"(": 1, ")": -1}.get(self._ahead(at).text, 0)
            at += 1
            if depth == 0:
                break
        return at

    def _table(self) -> int:
        """A table without a schema is the catalogue's, not DuckDB's own."""
        token = self._ahead()
        before = self._tokens[self._at - 1] if self._at else _END
        outer = self._open[-2].clause if len(self._open) > 1 else ""
        inside = before.text == "(" and (
            outer == "FROM" or (outer == "ON" and self._ahead(1).text != ".")
        )
        if token.kind != "word" or not (before.upper in ("FROM", "JOIN", ",") or inside):
            return 0
        name = token.value
        in_from = any(group.clause in ("FROM", "ON") for group in self._open[-3:])
        return self._put(f"pgc.{name}", 1) if name in _TABLES and in_from else 0

    def _list(self) -> int:
        """'{a,b}' is a list behind ANY and ALL, and where it is cast to one."""
        token = self._ahead()
        if token.kind != "string" or not token.value.startswith("{"):
            return 0
        any_of = self._last().upper() in ("ANY(", "ALL(")
        after = 1
        if self._ahead(1).text == ":" and self._ahead(2).text == ":":
            after = 5 if self._ahead(3).value == "pg_catalog" else 3
            after += 1
            is_list = self._ahead(after).text == "[" and self._ahead(after + 1).text == "]"
            after = after + 2 if is_list else 1
        if not any_of and after == 1:
            return 0
        found = types.decode(token.value.encode(), types.TEXTS_LIST, False, 1)
        texts = ", ".join(
            "NULL" if one is None else "'" + one.replace("'", "''") + "'" for one in found
        )
        return self._put(f"[{texts}]::VARCHAR[]", after)

    def _pattern(self) -> int:
        """PostgreSQL's patterns match a part of a text, DuckDB's the whole of it."""
        token = self._ahead()
        if token.kind != "string" or not self._last().endswith("~"):
            return 0
        pattern = token.value
        start = "" if pattern.startswith("^") else ".*"
        end = "" if pattern.endswith("$") else ".*"
        return self._put("'" + (start + pattern + end).replace("'", "''") + "'", 1)

    def _bracket(self) -> int:
        """Lists of DuckDB begin at 1, and some of PostgreSQL's at 0."""
        token = self._ahead()
        if token.text == "]" and len(self._open) > 1:
            return self._end("]")
        if token.text != "[":
            return 0
        if self._ahead(1).text == "]":
            return self._put("[]", 2)
        name = self._last().rpartition(".")[2].lower()
        if name in _FROM_ZERO:
            return self._enter("[1 + (", 1, close=")")
        return self._enter("[", 1)
