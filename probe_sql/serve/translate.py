"""Questions to PostgreSQL's catalogue in DuckDB's words, token by token.

What is called must be on a list, so that nothing but the catalogue's tables can be read.
"""

from __future__ import annotations

from probe_sql.errors import NotSupportedError
from probe_sql.serve.catalogue_tables import EMPTY, FILLED, FUNCTIONS, MACROS, OWN_MACROS, RENAMED
from probe_sql.serve.settings import OWN
from probe_sql.serve.statements import Statement, Token

SCHEMAS = {"pg_catalog.": "pgc", "information_schema.": "std", OWN: "own"}
_CALLABLE = FUNCTIONS | {name for name, _, _ in MACROS} | set(OWN_MACROS)
_TABLES = FILLED.keys() | EMPTY.keys()
_USERS = ("CURRENT_USER", "SESSION_USER", "USER")
_CASTS = {
    "oid": "BIGINT", "xid": "BIGINT", "name": "VARCHAR", "regtype": "VARCHAR",
    "regproc": "VARCHAR", "regnamespace": "VARCHAR", "regrole": "VARCHAR",
    "regprocedure": "VARCHAR", "cstring": "VARCHAR", "int2vector": "BIGINT[]",
    "oidvector": "BIGINT[]",
}  # fmt: skip
_SIGNS = frozenset("<>=!|~*-+/%&^#@")
_END = Token("sign", "", 0, 0)


def translated(given: Statement, user: str) -> str:
    """The statement as DuckDB understands it; a function that is not listed is refused."""
    return _Translation(given, user).text()


class _Translation:
    """Goes through the tokens; each rule says how many it took, 0 where it does not apply."""

    def __init__(self, given: Statement, user: str) -> None:
        self._tokens = given.tokens
        self._user = "'" + user.replace("'", "''") + "'"
        self._at = 0
        self._parts: list[str] = []

    def text(self) -> str:
        rules = (self._operator, self._collation, self._cast, self._schema, self._call,
                 self._table, self._pattern)  # fmt: skip
        while self._at < len(self._tokens):
            self._at += next((taken for rule in rules if (taken := rule())), 0) or self._keep()
        return " ".join(part for part in self._parts if part)

    def _ahead(self, tokens: int = 0) -> Token:
        index = self._at + tokens
        return self._tokens[index] if index < len(self._tokens) else _END

    def _last(self) -> str:
        return self._parts[-1] if self._parts else ""

    def _put(self, text: str, taken: int) -> int:
        self._parts.append(text)
        return taken

    def _keep(self) -> int:
        """A token as it is; signs that touched do so again."""
        token = self._ahead()
        before = self._tokens[self._at - 1] if self._at else _END
        touching = bool(self._parts) and before.end == token.start and before is not _END
        signs = before.text in _SIGNS and token.text in _SIGNS
        if touching and (signs or "." in (before.text, token.text)):
            self._parts[-1] += token.text
            return 1
        return self._put(token.text, 1)

    def _operator(self) -> int:
        """OPERATOR(pg_catalog.~) is ~."""
        if self._ahead().upper != "OPERATOR" or self._ahead(2).value != "pg_catalog":
            return 0
        signs, taken = "", 4
        while self._ahead(taken) is not _END and self._ahead(taken).text != ")":
            signs += self._ahead(taken).text
            taken += 1
        return self._put(signs, taken + 1)

    def _collation(self) -> int:
        """Everything is compared byte by byte."""
        if self._ahead().upper != "COLLATE":
            return 0
        return 4 if self._ahead(2).text == "." else 2

    def _cast(self) -> int:
        """Casts to types that DuckDB does not have; a class is looked up by its name."""
        double = self._ahead().text == ":" and self._ahead(1).text == ":"
        if not double and self._ahead().upper != "AS":
            return 0
        skip = 2 if double else 1
        at = skip + 2 if self._ahead(skip).value == "pg_catalog" else skip
        name = self._ahead(at).value
        if name == "regclass":
            if double:
                self._parts[-1] = f"probe_regclass({self._last()})"
                return at + 1
            if [part.upper() for part in self._parts[-2:-1]] == ["CAST("]:
                self._parts[-2] = "probe_regclass("
                return at + 1
            return self._put("AS BIGINT", at + 1)
        if at > skip or name in _CASTS:
            return self._put(("::" if double else "AS ") + _CASTS.get(name, name), at + 1)
        return self._put("::" if double else "AS", skip)

    def _schema(self) -> int:
        """A schema before a table is ours; before a function it is left out."""
        schema = self._ahead().value + "."
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
        if token.upper in _USERS and self._ahead(skip + 1).text != ".":
            return self._put(self._user, 1)
        if self._ahead(skip + 1).text != "(":
            return 0
        if name in RENAMED:
            return self._put(RENAMED[name] + "(", 2)
        # Behind AS or a parenthesis it is the name of a table, with those of its columns.
        if name in _CALLABLE or self._last() == "AS" or self._last().endswith(")"):
            return self._put(token.text + "(", 2)
        raise NotSupportedError(
            f"the function {name} is not in the catalogue",
            fix=f"SELECT * FROM {OWN}columns shows what can be asked",
        )

    def _table(self) -> int:
        """A table without a schema is the catalogue's, not DuckDB's own."""
        token = self._ahead()
        before = self._tokens[self._at - 1].upper if self._at else ""
        if token.kind != "word" or before not in ("FROM", "JOIN", ","):
            return 0
        return self._put(f"pgc.{token.value}", 1) if token.value in _TABLES else 0

    def _pattern(self) -> int:
        """PostgreSQL's patterns match a part of a text, DuckDB's the whole of it."""
        token = self._ahead()
        if token.kind != "string" or not self._last().endswith("~"):
            return 0
        pattern = token.value
        start = "" if pattern.startswith("^") else ".*"
        end = "" if pattern.endswith("$") else ".*"
        return self._put("'" + (start + pattern + end).replace("'", "''") + "'", 1)
