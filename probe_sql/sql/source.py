"""The SQL text with its tokens: where each parsed node stands, for messages that underline it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from probe_sql.errors import Span

OPEN = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
CLOSE = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})

# Words that sqlglot parses without keeping their span.
_UNSPANNED = frozenset(
    {
        "NULL", "TRUE", "FALSE", "IS", "NOT", "CURRENT_DATE", "CURRENT_TIMESTAMP", "INTERVAL",
        "+", "-", "*", "/", "=", "<", ">", "<=", ">=", "<>", "!=",
    }
)  # fmt: skip
_UNITS = frozenset({"YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND"})
_TYPED = frozenset({"DATE", "TIMESTAMP", "TIME", "INTERVAL"})
_LITERALS = frozenset({TokenType.STRING, TokenType.NUMBER})
_OPENS = OPEN | {TokenType.CASE}
_CLOSES = CLOSE | {TokenType.END}
_JOINS = frozenset(
    {
        "JOIN", "CROSS", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "SEMI", "ANTI", "ASOF",
        "NATURAL", "POSITIONAL",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """The SQL text and its tokens."""

    sql: str
    tokens: tuple[Token, ...]

    def span(self, node: exp.Expr | None) -> Span | None:
        """The span of a parsed node: from its first to its last token, parentheses balanced."""
        if node is None:
            return None
        found = _spans(node)
        if not found:
            return None
        first = self._index_at(min(start for start, _ in found))
        last = self._index_at(max(end for _, end in found))
        if first is None or last is None:
            return None
        first, last = self._balanced(*self._with_name(node, first, last))
        if isinstance(node, exp.Binary | exp.Is) and not _spans(node.expression):
            last = self._past_unspanned(last)
        first, last = self._with_words(node, first, last)
        if isinstance(node, exp.Query | exp.Subquery | exp.Exists):
            first, last = self._whole_query(first, last)
        if isinstance(node, exp.Join):
            while first > 0 and self._word(first - 1) in _JOINS:
                first -= 1
        return Span(self.tokens[first].start, self.tokens[last].end + 1)

    def clause(self, node: exp.Expr | None, *words: str) -> Span | None:
        """The span of a node together with the keywords that stand before it."""
        span = self.span(node)
        first = self._index_at(span.start) if span is not None else None
        if span is None or first is None:
            return self.find(*words)
        before = {*words, " ".join(words), "("}
        while first > 0 and self._word(first - 1) in before:
            first -= 1
        last = self._index_at(span.end - 1)
        assert last is not None
        first, last = self._balanced(first, last)
        return Span(self.tokens[first].start, self.tokens[last].end + 1)

    def find(self, *words: str) -> Span | None:
        """The first span where these keywords stand, case-insensitively."""
        wanted = [word.upper() for word in words]
        texts = [token.text.upper() for token in self.tokens]
        for index in range(len(texts) - len(wanted) + 1):
            if texts[index : index + len(wanted)] == wanted:
                end = self.tokens[index + len(wanted) - 1].end + 1
                return Span(self.tokens[index].start, end)
        return None

    def with_comma(self, span: Span | None) -> Span | None:
        """The place of a join, with the comma that joins it."""
        first = self._index_at(span.start) if span is not None else None
        if span is None or not first or self.tokens[first - 1].token_type != TokenType.COMMA:
            return span
        return Span(self.tokens[first - 1].start, span.end)

    def name_at(self, span: Span | None) -> str | None:
        """The function's name with which a span begins, as it was written."""
        first = self._index_at(span.start) if span is not None else None
        if first is None or first + 1 >= len(self.tokens):
            return None
        called = self.tokens[first + 1].token_type == TokenType.L_PAREN
        return self.tokens[first].text.lower() if called else None

    def token_span(self, token: Token) -> Span:
        return Span(token.start, token.end + 1)

    def _word(self, index: int) -> str:
        return str(self.tokens[index].text).upper()

    def _index_at(self, position: int) -> int | None:
        index = bisect_right(self.tokens, position, key=lambda token: token.start) - 1
        if index < 0 or position > self.tokens[index].end:
            return None
        return index

    def _past_unspanned(self, last: int) -> int:
        """The last of the words after `last` that have no span of their own."""
        while last + 1 < len(self.tokens) and self._word(last + 1) in _UNSPANNED:
            last += 1
        if self._word(last) == "INTERVAL":
            last = min(last + 1, len(self.tokens) - 1)
        return last

    def _with_name(self, node: exp.Expr, first: int, last: int) -> tuple[int, int]:
        """A call from its name to its parenthesis, where only its arguments have a span."""
        if not isinstance(node, exp.Func):
            return first, last
        following = self.tokens[first + 1 : first + 2]
        if following and following[0].token_type == TokenType.L_PAREN:
            return first, last + 1 if first == last else last
        if first > 1 and self.tokens[first - 1].token_type == TokenType.L_PAREN:
            return first - 2, last
        return first, last

    def _with_words(self, node: exp.Expr, first: int, last: int) -> tuple[int, int]:
        """DATE before a text, DAY after the number of an interval, CASE before WHEN."""
        named = last + 1 < len(self.tokens) and self._word(last + 1).rstrip("S") in _UNITS
        if named and last > 0 and self._word(last - 1) == "INTERVAL":
            last += 1
        typed = first > 0 and self._word(first - 1) in _TYPED
        if (
            typed
            and self.tokens[first].token_type in _LITERALS
            and not isinstance(node, exp.Literal)
        ):
            first -= 1
        if isinstance(node, exp.Case):
            while first > 0 and self.tokens[first].token_type != TokenType.CASE:
                first -= 1
        return self._balanced(first, last)

    def _balanced(self, first: int, last: int) -> tuple[int, int]:
        """The least range around two tokens in which every parenthesis and CASE has its mate."""
        depth = lowest = 0
        for token in self.tokens[first : last + 1]:
            depth += (token.token_type in _OPENS) - (token.token_type in _CLOSES)
            lowest = min(lowest, depth)
        missing = -lowest
        while missing > 0 and first > 0:
            first -= 1
            kind = self.tokens[first].token_type
            missing += (kind in _CLOSES) - (kind in _OPENS)
            if missing == 0 and first > 0 and self._names_call(first):
                first -= 1
        depth -= lowest
        while depth > 0 and last + 1 < len(self.tokens):
            last += 1
            kind = self.tokens[last].token_type
            depth += (kind in _OPENS) - (kind in _CLOSES)
        return first, last

    def _names_call(self, paren: int) -> bool:
        """Whether the token before an opening parenthesis touches it: a function's name."""
        before = self.tokens[paren - 1]
        return bool(before.end + 1 == self.tokens[paren].start and before.text[-1:].isalnum())

    def _whole_query(self, first: int, last: int) -> tuple[int, int]:
        """A subquery from its SELECT, with EXISTS and the parentheses around it."""
        while first > 0 and self._word(first) not in ("SELECT", "("):
            first -= 1
        if first > 0 and self._word(first) == "SELECT" and self._word(first - 1) == "(":
            first -= 1
        if first > 0 and self._word(first - 1) == "EXISTS":
            first -= 1
        return self._balanced(first, last)


def _spans(node: object) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    waiting = [node]
    while waiting:  # by hand: a walk of sqlglot's takes several times as long, for each span
        inner = waiting.pop()
        if isinstance(inner, exp.Expr):
            start, end = inner.meta_get("start"), inner.meta_get("end")
            if start is not None and end is not None:
                found.append((start, end))
            waiting += inner.args.values()
        elif type(inner) is list:
            waiting += inner
    return found
