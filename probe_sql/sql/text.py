"""From the analyst's text to one SELECT tree: tokens, the accuracy clause, parameters, spans.

`WITH ACCURACY (...)` is split off at token level and the rest is given to sqlglot's stock
parser, so strings and comments that look like the clause are left alone and every span
in the text stays where it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from probe_sql.errors import ProbeError, Refused, Span, SqlError
from probe_sql.sql.clauses import Clause, options, split_accuracy, split_inner
from probe_sql.sql.source import CLOSE, OPEN, Source
from probe_sql.sql.spelling import parser, plain_names, respelt

MAX_LENGTH = 100_000
_FIRST = (TokenType.SELECT, TokenType.WITH, TokenType.L_PAREN, TokenType.FROM)
MAX_DEPTH = 100  # of parentheses
MAX_TREE = 250  # of operators in a row, and anything else that nests
# Possessive: a long run of blanks or comments before another word must not be tried again.
_EXPLAIN = re.compile(r"(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*+\*/)*+(EXPLAIN)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """One SELECT, its accuracy options as written, and whether EXPLAIN [VERBOSE] is before it."""

    source: Source
    select: exp.Select
    options: Mapping[str, Any]
    option_spans: Mapping[str, Span]
    explain: bool
    verbose: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """One query of any shape: its tree, the clause at its end, and those of its subqueries."""

    source: Source
    tree: exp.Query
    options: Mapping[str, Any]
    option_spans: Mapping[str, Span]
    explain: bool
    inner: tuple[Clause, ...] = ()
    verbose: bool = False

    def asks_inside(self, span: Span | None) -> bool:
        """Whether a clause is about a subquery that has this place of the text in it."""
        return span is not None and any(
            clause.within.start <= span.start and span.end <= clause.within.end
            for clause in self.inner
        )


def parse(sql: str, parameters: Sequence[Any] = ()) -> Statement:
    """Parse one SELECT of the dialect; raise `SqlError` or `Refused` otherwise."""
    text = read(sql, parameters)
    return text_statement(text)


def text_statement(text: Text) -> Statement:
    """The one SELECT that a text is, with its clause."""
    select, source = text.tree, text.source
    try:
        for clause in text.inner:
            raise SqlError(
                "WITH ACCURACY (...) must be the last clause of the query",
                why="a subquery that only filters is no question of its own",
                fix="put it at the end",
                span=clause.span,
            )
        if not isinstance(select, exp.Select):
            raise _not_a_select(source, source.tokens, select)
    except ProbeError as error:
        raise error.located(source.sql)  # noqa: B904 - the same error, with its text
    return Statement(source, select, text.options, text.option_spans, text.explain, text.verbose)


def read(sql: str, parameters: Sequence[Any] = ()) -> Text:
    """Read one query of any shape; raise `SqlError` or `Refused` otherwise.

    `parameters` fill the `?` marks in the order of the text, the clauses included.
    """
    try:
        return _read(sql, parameters)
    except ProbeError as error:
        raise error.located(sql)  # noqa: B904 - the same error, with its text


def _read(sql: str, parameters: Sequence[Any]) -> Text:
    if not isinstance(sql, str):
        raise SqlError("the query must be text", fix="pass the SQL as a string")
    if len(sql) > MAX_LENGTH:
        raise Refused(f"the query is longer than {MAX_LENGTH:,} characters")
    _check_unicode(sql)
    explained = _EXPLAIN.match(sql)
    # sqlglot swallows everything after EXPLAIN as one token, so blank the word out.
    body_text = sql
    if explained is not None:
        start, end = explained.span(1)
        body_text = sql[:start] + " " * (end - start) + sql[end:]
    source = Source(sql, tuple(tokenize(body_text)))
    tokens = _one_statement(source)
    if not tokens:
        raise SqlError("the query is empty", fix="SELECT ... FROM ... GROUP BY ... HAVING ...")
    _check_depth(source, tokens)
    tokens = respelt(sql, tokens)
    tokens = _fill(source, tokens, parameters)
    if explained is not None and tokens[0].text.upper() in ("ANALYZE", "ANALYSE"):
        raise Refused(
            "EXPLAIN ANALYZE is not supported",
            why="it would run the query, and timings depend on private rows",
            fix="EXPLAIN SELECT ... shows the plan at no cost",
            span=source.token_span(tokens[0]),
        )
    verbose = explained is not None and tokens[0].text.upper() == "VERBOSE"
    if verbose:
        tokens = tokens[1:]
        if not tokens:
            raise SqlError("there is no query to explain", fix="EXPLAIN VERBOSE SELECT ...")
    body, clause = split_accuracy(source, tokens)
    named, spans = options(source, clause)
    body, inner = split_inner(source, body)
    tree = _query(source, body)
    return Text(source, tree, named, spans, explained is not None, inner, verbose)


def _check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SqlError(
            "the query holds half of a surrogate pair, which is no character",
            fix="decode the text as UTF-8 before it is sent",
        ) from None


def tokenize(sql: str) -> list[Token]:
    """The tokens of a text, or `SqlError` where it has none."""
    try:
        return list(DuckDB().tokenize(sql))
    except SqlglotError:
        raise SqlError(
            "the query cannot be read: a quote or comment is not closed, or a character is unknown",
            fix="close every ' and \" and /* comment",
        ) from None


def _one_statement(source: Source) -> list[Token]:
    tokens = list(source.tokens)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise Refused(
                "more than one statement",
                why="each query is charged by itself",
                fix="send one statement at a time",
                span=source.token_span(token),
            )
    return tokens


def _check_depth(source: Source, tokens: Sequence[Token]) -> None:
    depth = 0
    runs = 0
    for token in tokens:
        depth += (token.token_type in OPEN) - (token.token_type in CLOSE)
        unary = token.token_type in (TokenType.NOT, TokenType.DASH, TokenType.TILDE)
        runs = runs + 1 if unary or token.text.upper() == "CASE" else 0
        if depth > MAX_DEPTH or runs > MAX_DEPTH:
            raise Refused(
                f"the query nests deeper than {MAX_DEPTH} levels",
                fix="flatten the expression",
                span=source.token_span(token),
            )
    if len(tokens) > 20_000:
        raise Refused("the query has more than 20,000 words", fix="shorten its lists")


def _fill(source: Source, tokens: list[Token], parameters: Sequence[Any]) -> list[Token]:
    if isinstance(parameters, str | bytes | Mapping) or not isinstance(parameters, Sequence):
        raise SqlError("parameters must be a list or a tuple", fix="db.sql(query, [value, ...])")
    values = list(parameters)
    result: list[Token] = []
    used = 0
    for token, after in zip(tokens, [*tokens[1:], tokens[-1]], strict=True):
        if token.token_type in (TokenType.PARAMETER, TokenType.SESSION_PARAMETER):
            touching = after.start == token.end + 1
            raise Refused(
                "only ? parameters are supported",
                fix="write ? and pass the values in order",
                span=Span(token.start, (after if touching else token).end + 1),
            )
        if token.token_type != TokenType.PLACEHOLDER:
            result.append(token)
            continue
        if used == len(values):
            raise SqlError(
                f"the query has more ? places than the {len(values)} parameters given",
                span=source.token_span(token),
            )
        result.extend(_literal_tokens(token, values[used], used + 1))
        used += 1
    if used < len(values):
        raise SqlError(f"{len(values)} parameters were given for {used} ? places")
    return result


def _literal_tokens(token_at: Token, value: Any, number: int) -> list[Token]:
    """Tokens of a literal that stand at the place of a `?`."""

    def token(kind: TokenType, text: str) -> Token:
        return Token(kind, text, token_at.line, token_at.col, token_at.start, token_at.end)

    if hasattr(value, "item") and type(value).__module__ == "numpy":
        value = value.item()
    if value is None:
        return [token(TokenType.NULL, "NULL")]
    if isinstance(value, bool):
        return [token(TokenType.TRUE if value else TokenType.FALSE, str(value).upper())]
    if isinstance(value, int | float | Decimal):
        try:
            exact = Decimal(str(value))
            finite = exact.is_finite() and -400 <= exact.adjusted() <= 400
            text = format(exact, "f") if finite else ""
            finite = finite and len(text) <= 400
        except (InvalidOperation, ValueError):  # ValueError: an int of thousands of digits
            finite = False
        if not finite:
            raise SqlError(f"parameter {number} is not a finite number")
        digits = [token(TokenType.NUMBER, text.lstrip("-"))]
        if not text.startswith("-"):
            return digits
        minus = token(TokenType.DASH, "-")
        return [token(TokenType.L_PAREN, "("), minus, *digits, token(TokenType.R_PAREN, ")")]
    if isinstance(value, datetime):
        text = value.isoformat(sep=" ")
        return [token(TokenType.TIMESTAMP, "TIMESTAMP"), token(TokenType.STRING, text)]
    if isinstance(value, date):
        return [token(TokenType.DATE, "DATE"), token(TokenType.STRING, value.isoformat())]
    if isinstance(value, str):
        _check_unicode(value)
        return [token(TokenType.STRING, value)]
    raise SqlError(
        f"parameter {number} has the type {type(value).__name__}",
        fix="pass a number, text, a date, a timestamp, a boolean or None",
    )


def _query(source: Source, tokens: Sequence[Token]) -> exp.Query:
    if not tokens:
        raise SqlError("there is no query before WITH ACCURACY")
    if tokens[0].token_type not in _FIRST:
        # The parser would fall back to a command, and log the text.
        raise _not_a_select(source, tokens, None)
    try:
        trees = parser().parse(list(tokens), source.sql)
    except ParseError as error:
        raise _syntax_error(source, tokens, error) from None
    except RecursionError:
        raise Refused(
            "the query nests too deeply to be read",
            fix="put fewer functions and parentheses inside each other",
        ) from None
    except (
        SqlglotError,
        ValueError,
        IndexError,
        KeyError,
        TypeError,
        AttributeError,
    ):
        raise SqlError("the query cannot be parsed", fix="check it against the dialect") from None
    tree = trees[0] if trees else None
    while isinstance(tree, exp.Subquery) and not {
        k for k, v in tree.args.items() if v and k != "this"
    }:
        tree = tree.this
    if isinstance(tree, exp.Select | exp.SetOperation | exp.Subquery):
        _check_tree(source, tree)
        return plain_names(tree, source)
    raise _not_a_select(source, tokens, tree)


def _check_tree(source: Source, tree: exp.Expr) -> None:
    """Refuse expressions too deep to walk; a chain of AND or of OR counts as one level."""
    waiting: list[tuple[exp.Expr, int]] = [(tree, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_TREE:
            raise Refused(
                f"an expression has more than {MAX_TREE} levels",
                fix="shorten it: use IN for lists, or a column of a view",
                span=source.span(node),
            )
        for child in node.iter_expressions():
            chained = isinstance(node, exp.Connector) and type(child) is type(node)
            waiting.append((child, depth if chained else depth + 1))


def _syntax_error(source: Source, tokens: Sequence[Token], error: ParseError) -> SqlError:
    details = error.errors[0] if error.errors else {}
    line, column = details.get("line"), details.get("col")
    token_at: Token | None = tokens[-1]
    for token in tokens:
        if token.line == line and token.col == column:
            token_at = token
            break
    text = token_at.text if token_at else ""
    what = f"syntax error near {text!r}" if text else "syntax error"
    return SqlError(
        what,
        fix="SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... WITH ACCURACY (...)",
        span=source.token_span(token_at) if token_at else None,
    )


def _not_a_select(source: Source, tokens: Sequence[Token], tree: exp.Expr | None) -> ProbeError:
    span = source.token_span(tokens[0])
    if isinstance(tree, exp.SetOperation):
        word = type(tree).__name__.upper()
        return Refused(
            f"{word} is not supported",
            why="each SELECT has its own error bounds",
            fix="send the SELECTs as separate queries",
            span=source.find(word) or span,
        )
    word = tokens[0].text.upper()
    return Refused(
        f"{word} is not a query that can be answered",
        why="the only statement is SELECT, with EXPLAIN before it or not",
        fix="SELECT ... FROM ... GROUP BY ... HAVING ...",
        span=span,
    )
