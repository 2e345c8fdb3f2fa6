"""How other systems write SQL, read as this dialect: quoted names, TOP, functions, hints.

Only what means one thing is translated; where DuckDB reads the same text otherwise, as `[x]` around
blocks, docs/dialect.md says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.tokenizer_core import Token, TokenType

from probe_sql.errors import Refused, Span, SqlError
from probe_sql.sql.functions.elsewhere import ELSEWHERE, Elsewhere, converted
from probe_sql.sql.source import Source
from probe_sql.text import normal_name

_BEFORE_OPERAND = (
    TokenType.IDENTIFIER, TokenType.VAR, TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.STRING,
    TokenType.R_BRACE, TokenType.ARRAY,
)  # fmt: skip
_HINTS = frozenset({"NOLOCK", "READUNCOMMITTED", "READPAST"})


def respelt(sql: str, tokens: Sequence[Token]) -> list[Token]:
    """The tokens with quoted names, TOP and hints of other systems as DuckDB's parser reads them.

    Places stay: a token that is made of several stands where they stood.
    """
    found: list[Token] = []
    rest = list(tokens)
    index = 0
    while index < len(rest):
        token = rest[index]
        taken = _quoted(sql, rest, index, found) or _hint(rest, index)
        if taken is not None:
            made, index = taken
            found += made
            continue
        if _is_top(rest, index, found):
            token = _made(token, TokenType.TOP, token.text, token)
        if token.text in ("N", "n") and _touches(rest, index, TokenType.STRING):
            token, index = rest[index + 1], index + 1
        found.append(token)
        index += 1
    return found


def _made(first: Token, kind: TokenType, text: str, last: Token) -> Token:
    return Token(kind, text, first.line, first.col, first.start, last.end)


def _touches(tokens: Sequence[Token], index: int, kind: TokenType) -> bool:
    after = tokens[index + 1 : index + 2]
    return bool(after) and after[0].token_type == kind and after[0].start == tokens[index].end + 1


def _quoted(
    sql: str, tokens: Sequence[Token], index: int, before: Sequence[Token]
) -> tuple[list[Token], int] | None:
    """A name in backticks, or in brackets where no list and no element of one can be meant."""
    token = tokens[index]
    if token.token_type == TokenType.L_BRACKET and before and before[-1].text == "[":
        return None  # a list in a list
    if token.token_type == TokenType.UNKNOWN and token.text == "`":
        close, found = "`", range(index + 1, len(tokens))
    elif token.token_type == TokenType.L_BRACKET:
        if before and before[-1].token_type in _BEFORE_OPERAND and not _names(before):
            return None
        close, found = "]", range(index + 1, min(index + 6, len(tokens)))
    else:
        return None
    for end in found:
        if tokens[end].text == close:
            inside = sql[token.start + 1 : tokens[end].start]
            words = inside.replace(" ", "").replace("_", "")
            if close == "`" and not inside.strip():
                break
            called = bool(before) and before[-1].text.upper() == "AS"
            named = close == "`" or words.isalnum() or called
            if not inside.strip() or not named or words.isdigit():
                return None
            return [_made(token, TokenType.IDENTIFIER, inside, tokens[end])], end + 1
    if close == "`":
        raise SqlError(
            "a name in backticks is empty or not closed",
            fix="close every ` with another",
            span=Span(token.start, token.end + 1),
        )
    return None


def _names(before: Sequence[Token]) -> bool:
    """Whether a name must follow: after AS, or after the word that ends another clause."""
    return before[-1].text.upper() in ("AS", "BY", "SELECT", "DISTINCT", "FROM", "JOIN", "ON")


def _hint(tokens: Sequence[Token], index: int) -> tuple[list[Token], int] | None:
    """WITH (NOLOCK) after a table says nothing of what is asked."""
    words = [token.text.upper() for token in tokens[index : index + 4]]
    hint = len(words) == 4 and words[:2] == ["WITH", "("] and words[3] == ")"
    return ([], index + 4) if hint and words[2] in _HINTS else None


def _is_top(tokens: Sequence[Token], index: int, before: Sequence[Token]) -> bool:
    """SELECT TOP 10: a number follows, as it cannot after a column of that name."""
    if tokens[index].text.upper() != "TOP" or not before:
        return False
    after = list(tokens[index + 1 : index + 4])
    number = after[:1] and after[0].token_type == TokenType.NUMBER
    kinds = [token.token_type for token in after]
    number = number or kinds == [TokenType.L_PAREN, TokenType.NUMBER, TokenType.R_PAREN]
    return bool(number) and before[-1].text.upper() in ("SELECT", "DISTINCT", "ALL")


# --- functions -----------------------------------------------------------------------------------


_Parser = DuckDB.parser_class


def _reader(row: Elsewhere) -> Callable[..., exp.Expr]:
    """How the parser makes a call of that name: as this dialect says it, or as DuckDB reads it."""
    usual = _Parser.FUNCTIONS.get(row.name)

    def read(args: list[exp.Expr]) -> exp.Expr:
        translated = row.build(args)
        if translated is not None:
            return translated
        if usual is None:
            return exp.Anonymous(this=row.name.lower(), expressions=args)
        try:
            found: exp.Expr = usual(args)
        except TypeError:  # as the parser itself finds out which builders want it
            found = usual(args, dialect=DuckDB())
        return found

    return read


class Parser(_Parser):  # type: ignore[misc, valid-type]
    """DuckDB's parser with the functions of other systems."""

    FUNCTIONS: ClassVar = {
        **_Parser.FUNCTIONS,
        **{name: _reader(row) for name, row in ELSEWHERE.items()},
    }
    FUNCTION_PARSERS: ClassVar = {
        **_Parser.FUNCTION_PARSERS,
        "CONVERT": lambda self: self.conversion(),
    }

    def conversion(self) -> exp.Expr | None:
        """T-SQL's CONVERT(type, x[, style]), or another system's CONVERT(x, type)."""
        start = self._index
        to = self._parse_types()
        known = isinstance(to, exp.DataType) and to.this != exp.DType.USERDEFINED
        lengths = [t for t in self._tokens[start : self._index] if t.token_type == TokenType.NUMBER]
        if known and self._match(TokenType.COMMA):
            value = self._parse_assignment()
            style = self._parse_assignment() if self._match(TokenType.COMMA) else None
            length = int(lengths[0].text) if len(lengths) == 1 else None
            first, last = self._tokens[start - 2], self._curr or self._prev
            try:
                made = converted(to, value, style, length)
            except Refused as error:
                error.span = Span(first.start, last.end + 1)
                raise
            if made is not None:
                return made
        self._retreat(start)
        return self._parse_convert(strict=self.STRICT_CAST)  # type: ignore[no-any-return]


def parser() -> Parser:
    """A parser of the dialect."""
    return Parser(dialect=DuckDB())


# --- names and texts -----------------------------------------------------------------------------


def _between(first: Span | None, last: Span | None) -> Span | None:
    return None if first is None or last is None else Span(first.start, last.end)


_SCHEMAS = frozenset({"main", "public", "dbo"})


def plain_names(tree: exp.Query, source: Source) -> exp.Query:
    """The tree with tables by their own names, and N'text' as a text.

    A policy's tables are those of one schema, so only its usual names may stand before a table.
    """
    for node in list(tree.find_all(exp.National)):
        node.replace(exp.Literal.string(node.name))
    for table in tree.find_all(exp.Table):
        schema = table.args.get("db")
        if schema is None:
            continue
        catalog = table.args.get("catalog")
        usual = normal_name(schema.name) in (*_SCHEMAS, normal_name(table.name))
        if catalog is not None or not usual:
            first, kind = (schema, "schema") if catalog is None else (catalog, "database")
            raise Refused(
                f"{first.name} is no {kind} that can be named here",
                why="the policy declares the tables of one schema, by their own names",
                instead=table.name,
                span=_between(source.span(first), source.span(table.this)),
            )
        table.set("db", None)
    return tree
