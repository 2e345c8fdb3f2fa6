"""`WITH ACCURACY (...)` at token level: where the clauses of a query stand, and what they say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot.tokenizer_core import Token, TokenType

from probe_sql.errors import Span, SqlError
from probe_sql.options import OPTIONS
from probe_sql.sql.source import CLOSE, OPEN, Source


@dataclass(frozen=True, slots=True)
class Clause:
    """A `WITH ACCURACY (...)`, and the part of the text that the parentheses around it hold."""

    within: Span
    span: Span
    options: Mapping[str, Any]
    option_spans: Mapping[str, Span]


def split_accuracy(source: Source, tokens: list[Token]) -> tuple[list[Token], list[Token]]:
    """Split `WITH ACCURACY ( ... )` off the end; anything after it is an error."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type in OPEN) - (token.token_type in CLOSE)
        at_clause = (
            depth == 0
            and index > 0
            and token.token_type == TokenType.WITH
            and index + 1 < len(tokens)
            and tokens[index + 1].text.upper() == "ACCURACY"
        )
        if not at_clause:
            continue
        clause = tokens[index + 2 :]
        if not clause or clause[0].token_type != TokenType.L_PAREN:
            raise SqlError(
                "WITH ACCURACY needs its options in parentheses",
                fix="WITH ACCURACY (fnr = 0.05, fpr = 0.10)",
                span=source.token_span(tokens[index + 1]),
            )
        end = _closing(clause)
        if end != len(clause) - 1:
            first = clause[0] if end is None else clause[end + 1]
            raise SqlError(
                "WITH ACCURACY (...) must be the last clause of the query",
                fix="close its parenthesis and put nothing after it",
                span=Span(first.start, clause[-1].end + 1),
            )
        return tokens[:index], clause[1:-1]
    return tokens, []


def split_inner(source: Source, tokens: list[Token]) -> tuple[list[Token], tuple[Clause, ...]]:
    """Split off the clauses that end a subquery: what follows one is its closing parenthesis."""
    body: list[Token] = []
    found: list[Clause] = []
    opened: list[Token] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.token_type in OPEN:
            opened.append(token)
        elif token.token_type in CLOSE and opened:
            opened.pop()
        here = tokens[index : index + 3]
        words = [word.text.upper() for word in here]
        if token.token_type != TokenType.WITH or words[1:] != ["ACCURACY", "("] or not opened:
            body.append(token)
            index += 1
            continue
        end = _closing(tokens[index + 2 :])
        last = None if end is None else index + 2 + end
        if last is None or last + 1 >= len(tokens) or tokens[last + 1].token_type not in CLOSE:
            raise SqlError(
                "WITH ACCURACY (...) must be the last clause of its query",
                fix="close its parenthesis, and then that of the subquery",
                span=source.token_span(tokens[index + 1]),
            )
        named, spans = options(source, tokens[index + 3 : last])
        span = Span(token.start, tokens[last].end + 1)
        within = Span(opened[-1].start, tokens[last + 1].end + 1)
        found.append(Clause(within, span, named, spans))
        index = last + 1
    return body, tuple(found)


def _closing(clause: Sequence[Token]) -> int | None:
    """Where the parenthesis that opens a clause closes."""
    depth = 0
    for index, token in enumerate(clause):
        depth += (token.token_type in OPEN) - (token.token_type in CLOSE)
        if depth == 0:
            return index
    return None


def options(source: Source, clause: Sequence[Token]) -> tuple[dict[str, Any], dict[str, Span]]:
    """The options of a clause by name, checked for their names alone, and where each stands."""
    found: dict[str, Any] = {}
    spans: dict[str, Span] = {}
    if not clause:
        return found, spans
    for part in _parts(clause):
        if len(part) < 3 or part[1].token_type != TokenType.EQ:
            at = part[0] if part else clause[-1]
            raise SqlError(
                "each accuracy option is a name, = and a value",
                fix="WITH ACCURACY (fnr = 0.05, algorithm = 'probe')",
                span=source.token_span(at),
            )
        name = part[0].text.lower()
        span = Span(part[0].start, part[-1].end + 1)
        if name not in OPTIONS:
            raise SqlError(
                f"there is no accuracy option named {part[0].text!r}",
                fix=f"use one of {', '.join(OPTIONS)}",
                span=source.token_span(part[0]),
            )
        if name in found:
            raise SqlError(f"the option {name} is given twice", span=span)
        found[name] = _option_value(part[2:], span)
        spans[name] = span
    return found, spans


def _parts(clause: Sequence[Token]) -> list[list[Token]]:
    """The clause between its commas; those inside of parentheses do not count."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in clause:
        depth += (token.token_type in OPEN) - (token.token_type in CLOSE)
        if token.token_type == TokenType.COMMA and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _option_value(tokens: Sequence[Token], span: Span) -> Any:
    kinds = [token.token_type for token in tokens]
    if kinds[0] == TokenType.L_PAREN and kinds[-1] == TokenType.R_PAREN and TokenType.EQ in kinds:
        named: dict[str, Any] = {}
        for part in _parts(tokens[1:-1]):
            if len(part) < 3 or part[1].token_type != TokenType.EQ or part[0].text in named:
                raise SqlError(
                    "margins by column are names, each once, with = and a margin",
                    fix="margin = (n = 50, total = '5%')",
                    span=span,
                )
            named[part[0].text] = _option_value(part[2:], span)
        return named
    if kinds == [TokenType.STRING]:
        return tokens[0].text
    if kinds in ([TokenType.TRUE], [TokenType.FALSE]):
        return kinds == [TokenType.TRUE]
    numeric = {TokenType.NUMBER, TokenType.DOT, TokenType.DASH}
    inner = [t for t in tokens if t.token_type not in (TokenType.L_PAREN, TokenType.R_PAREN)]
    if inner and all(token.token_type in numeric for token in inner):
        text = "".join(token.text for token in inner)
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = None
        if number is not None and number.is_finite() and abs(number.adjusted()) <= 400:
            return int(number) if "." not in text and "e" not in text.lower() else float(number)
    raise SqlError(
        "the value of an accuracy option is a number, a string, true or false",
        fix="epsilon = 1.0, algorithm = 'probe'",
        span=span,
    )
