"""What a client's text asks for: its statements, their parameters, and what each one is.

A statement of the session (BEGIN, SET, FETCH ...) is read here as a whole. A question to the data
is passed on as it is, and read again by the dialect, which alone decides what is asked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from probe_sql.errors import NotSupportedError, Span, SqlError
from probe_sql.serve.postgres.settings import OWN

SCHEMAS = {"pg_catalog.": "pgc", "information_schema.": "std", OWN: "own"}  # and ours
LONGEST = 100_000  # characters, as in the dialect
_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|--[^\n]*)
  | (?P<comment>/\*)
  | (?P<string>[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*')
  | (?P<name>"(?:[^"]|"")*")
  | (?P<parameter>\$\d{1,5}(?!\w))
  | (?P<dollar>\$(?P<tag>[A-Za-z_\x80-\U0010ffff]\w*)?\$)
  | (?P<word>[^\W\d][\w$]*)
  | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)
  | (?P<open>['"])
  | (?P<sign>.)
    """,
    re.VERBOSE | re.DOTALL,
)


# What PostgreSQL has in brackets after EXPLAIN; what tells nothing here is taken and left out.
_EXPLAINED = frozenset({"FORMAT", "VERBOSE", "ANALYZE", "ANALYSE", "COSTS", "SETTINGS", "BUFFERS",
                        "TIMING", "SUMMARY", "WAL", "GENERIC_PLAN"})  # fmt: skip
_OFF = (["FALSE"], ["OFF"], ["0"])
_SWITCHES = (*_OFF, ["TRUE"], ["ON"], ["1"])


@dataclass(frozen=True, slots=True)
class Token:
    """A word, name, string, number, parameter or sign, and its span in the text."""

    kind: str
    text: str
    start: int
    end: int

    @property
    def upper(self) -> str:
        """A word in capitals; empty for a name in quotes or a string."""
        return self.text.upper() if self.kind in ("word", "sign", "number") else ""

    @property
    def value(self) -> str:
        """What a name or a string means."""
        if self.kind == "name":
            return self.text[1:-1].replace('""', '"')
        if self.kind == "string" and self.text.startswith("$"):
            tag = self.text.index("$", 1) + 1
            return self.text[tag:-tag]
        if self.kind == "string":
            return self.text.lstrip("eE")[1:-1].replace("''", "'")
        return self.text.lower() if self.kind == "word" else self.text


def tokens(text: str) -> list[Token]:
    """The tokens of a text, without blanks and comments."""
    found: list[Token] = []
    at = 0
    while match := _TOKEN.match(text, at):
        kind, end = str(match.lastgroup), match.end()
        if kind == "comment":
            end = _comment_end(text, at)
        elif match["dollar"] is not None:
            kind, end = "string", text.find(match["dollar"], end)
            if end < 0:
                raise _unclosed(at)
            end += len(match["dollar"])
        elif kind == "open":
            raise _unclosed(at)
        if kind not in ("blank", "comment"):
            found.append(Token(kind, text[at:end], at, end))
        at = end
    return found


def _comment_end(text: str, start: int) -> int:
    depth, at = 1, start + 2
    while depth:
        match = re.compile(r"/\*|\*/").search(text, at)
        if match is None:
            raise _unclosed(start)
        depth += 1 if match[0] == "/*" else -1
        at = match.end()
    return at


def _unclosed(at: int) -> SqlError:
    return SqlError(
        "a quote or comment is not closed",
        fix="close every ' and \" and /* comment",
        span=Span(at, at + 1),
    )


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement: its text, its tokens (positions count from its start), and where it stood.

    What the server's own thread needs to know of it is found out when it is read, which for long
    texts is beside the others: `verb` is its first word in capitals; `parameters` are their
    numbers in the order of the text, `positions` where they stand, and `listed` those that ANY
    goes through, which are lists if nobody says otherwise; `brackets` are those after EXPLAIN that
    the dialect has not, which may ask for a plan `as_json`; `about_catalogue` says whether it asks
    the catalogue, and `own` whether it names a table of one's own there.
    """

    text: str
    tokens: tuple[Token, ...]
    offset: int = 0
    verb: str = field(init=False)
    parameters: tuple[int, ...] = field(init=False)
    positions: tuple[int, ...] = field(init=False)
    listed: tuple[int, ...] = field(init=False)
    brackets: tuple[Token, ...] = field(init=False)
    as_json: bool = field(init=False)
    about_catalogue: bool = field(init=False)
    own: bool = field(init=False)

    def __post_init__(self) -> None:
        verb = next((token.upper for token in self.tokens if token.text != "("), "")
        marks = [token for token in self.tokens if token.kind == "parameter"]
        brackets, as_json = _explain_options(verb, self.tokens)
        behind = zip(self.tokens, self.tokens[1:], self.tokens[2:], strict=False)
        known = {
            "verb": verb,
            "parameters": tuple(int(token.text[1:]) for token in marks),
            "positions": tuple(token.start for token in marks),
            "listed": tuple(
                int(third.text[1:])
                for first, second, third in behind
                if first.upper == "ANY" and second.text == "(" and third.kind == "parameter"
            ),
            "brackets": brackets,
            "as_json": as_json,
            "about_catalogue": _about_catalogue(verb, self.tokens),
            "own": any(token.value + "." == OWN for token in self.tokens),
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def marked(self) -> str:
        """The text with ? for each parameter and no brackets after EXPLAIN, every position kept."""
        parts, at = [], 0
        for token in self.tokens:
            if token.kind == "parameter" or token in self.brackets:
                mark = "?" if token.kind == "parameter" else ""
                parts += [self.text[at : token.start], mark.ljust(len(token.text))]
                at = token.end
        return "".join([*parts, self.text[at:]])

    def after(self, count: int) -> Statement:
        """What stands behind the first `count` tokens, as a statement of its own."""
        start = self.tokens[count].start if count < len(self.tokens) else len(self.text)
        return statement(self.text[start:], self.offset + start)


def statement(text: str, offset: int = 0) -> Statement:
    """One statement from its text."""
    return Statement(text, tuple(tokens(text)), offset)


def split(text: str) -> list[Statement]:
    """The statements of a text, at each `;` outside of quotes; empty ones are left out."""
    if len(text) > LONGEST:
        raise SqlError(f"the text is longer than {LONGEST:,} characters", fix="shorten its lists")
    found: list[Statement] = []
    part: list[Token] = []
    for token in [*tokens(text), Token("sign", ";", len(text), len(text))]:
        if token.text != ";":
            part.append(token)
        elif part:
            start, end = part[0].start, part[-1].end
            inner = tuple(Token(t.kind, t.text, t.start - start, t.end - start) for t in part)
            found.append(Statement(text[start:end], inner, start))
            part = []
    return found


def _explain_options(verb: str, found: Sequence[Token]) -> tuple[tuple[Token, ...], bool]:
    """The brackets after EXPLAIN that PostgreSQL has, which the dialect has not, and whether they
    ask for JSON. VERBOSE and ANALYZE stay: they are words of the dialect, or refused by it."""
    words = [token.upper for token in found]
    if verb != "EXPLAIN" or words[1:2] != ["("] or not _EXPLAINED & {*words[2:3]}:
        return (), False
    if ")" not in words:
        return (), False
    end, stay, form = words.index(")"), set[int](), "TEXT"
    commas = [at for at in range(end) if words[at] == ","]
    for start, stop in zip([1, *commas], [*commas, end], strict=True):
        name, *value = words[start + 1 : stop] or [""]
        if name == "FORMAT" and value in (["TEXT"], ["JSON"]):
            form = value[0]
        elif name not in _EXPLAINED or name == "FORMAT" or value not in ([], *_SWITCHES):
            raise NotSupportedError(
                "EXPLAIN has no such option, or it has no such value",
                why="its options are VERBOSE and FORMAT, which is TEXT or JSON",
                fix="EXPLAIN (FORMAT JSON) SELECT ...",
            )
        elif name in ("VERBOSE", "ANALYZE", "ANALYSE") and value not in _OFF:
            stay.add(start + 1)
    left = tuple(token for at, token in enumerate(found[: end + 1]) if at and at not in stay)
    return left, form == "JSON"


def _about_catalogue(verb: str, found: Sequence[Token]) -> bool:
    """Whether a statement asks the catalogue: it reads a table of it, or no table at all.

    Privacy: the catalogue knows public facts only, so that a wrong guess tells nothing.
    """
    if verb not in ("SELECT", "WITH", "VALUES", "TABLE"):
        return False
    reads = False
    for token, after, dot in zip(found, found[1:], [*found[2:], None], strict=False):
        if token.upper in ("FROM", "JOIN", ",", "TABLE"):
            reads = reads or token.upper in ("FROM", "JOIN")
            schema = after.value + "." in SCHEMAS and dot is not None and dot.text == "."
            called = token.upper != "," and dot is not None and dot.text == "("
            if schema or called or (token.upper != "," and re.match(r"pg_\w", after.value)):
                return True
    return not reads


# --- statements of the session -----------------------------------------------------------

ASKS = frozenset({"SELECT", "WITH", "FROM", "EXPLAIN", "VALUES", "TABLE"})
BEGIN = frozenset({"BEGIN", "START"})
COMMIT = frozenset({"COMMIT", "END"})
ROLLBACK = frozenset({"ROLLBACK", "ABORT"})
REFUSED = {
    "changes no data": (
        "INSERT",
        "UPDATE",
        "DELETE",
        "MERGE",
        "TRUNCATE",
        "COPY",
        "CREATE",
        "ALTER",
        "DROP",
        "GRANT",
        "REVOKE",
        "COMMENT",
        "LOCK",
        "VACUUM",
        "ANALYZE",
        "ANALYSE",
        "REINDEX",
        "CLUSTER",
        "REFRESH",
        "IMPORT",
        "REASSIGN",
        "SECURITY",
        "ATTACH",
        "DETACH",
        "EXPORT",
        "INSTALL",
        "USE",
    ),
    "has no channels, procedures or files": (
        "LISTEN",
        "NOTIFY",
        "DO",
        "LOAD",
        "CHECKPOINT",
        "PRAGMA",
    ),
    "keeps prepared statements in the protocol": ("PREPARE", "EXECUTE"),
}


def refusal(verb: str) -> NotSupportedError | None:
    """Why a statement is refused by its name, or None where it is not."""
    for why, verbs in REFUSED.items():
        if verb in verbs:
            return NotSupportedError(
                f"{verb} is not supported",
                why=f"this server answers questions and {why}",
                fix="SELECT ... FROM ... GROUP BY ... HAVING ...",
            )
    return None


@dataclass(frozen=True, slots=True)
class Setting:
    """SET: a name and its value, None for DEFAULT; `local` ends with the transaction."""

    name: str
    value: str | None
    local: bool = False


def read_set(given: Statement) -> Setting | None:
    """What SET sets; None where it is about transactions, which all read alike."""
    rest = list(given.tokens[1:])
    local = bool(rest) and rest[0].upper == "LOCAL"
    if rest and rest[0].upper in ("LOCAL", "SESSION") and len(rest) > 1:
        if [t.upper for t in rest[1:3]] == ["CHARACTERISTICS", "AS"]:
            return None
        rest = rest[1:]
    first = rest[0].upper if rest else ""
    if first == "TRANSACTION":
        return None
    if first in ("ROLE", "AUTHORIZATION", "CONSTRAINTS"):
        raise NotSupportedError(
            f"SET {first} is not supported",
            why="who asks and pays is who has logged in",
            fix="log in as somebody else",
        )
    if [t.upper for t in rest[:2]] == ["TIME", "ZONE"]:
        return Setting("timezone", _setting_value(rest[2:]), local)
    if first == "NAMES":
        return Setting("client_encoding", _setting_value(rest[1:]), local)
    name, used = dotted(rest)
    if used == len(rest) or (rest[used].text != "=" and rest[used].upper != "TO"):
        raise SqlError("SET needs a name and a value", fix="SET probe.fdr = 0.05")
    return Setting(name, _setting_value(rest[used + 1 :]), local)


def dotted(rest: Sequence[Token]) -> tuple[str, int]:
    """A name, perhaps with parts, in small letters; and how many tokens it takes."""
    parts, used = [], 0
    while used < len(rest) and rest[used].kind in ("word", "name"):
        parts.append(rest[used].value.lower())
        used += 1
        if used == len(rest) or rest[used].text != ".":
            break
        used += 1
    if not parts:
        raise SqlError("a name is missing", fix="SHOW probe.remaining")
    return ".".join(parts), used


def _setting_value(rest: Sequence[Token]) -> str | None:
    if not rest:
        raise SqlError("a value is missing", fix="SET probe.fdr = 0.05")
    if [t.upper for t in rest] == ["DEFAULT"]:
        return None
    return "".join(", " if t.text == "," else t.value for t in rest)


def read_call(given: Statement, values: Sequence[Any]) -> str:
    """Whom CALL unlocks; nothing else can be called."""
    name, used = dotted(given.tokens[1:])
    rest = given.tokens[1 + used :]
    if name != OWN + "unlock":
        raise NotSupportedError(
            "the only procedure is probe.unlock",
            why="it lets a user ask again whose scans had failed",
            fix="CALL probe.unlock('maria')",
        )
    if [token.text for token in (*rest[:1], *rest[2:])] != ["(", ")"] or rest[1].kind not in (
        "string",
        "parameter",
    ):
        raise SqlError("probe.unlock takes a user's name", fix="CALL probe.unlock('maria')")
    if rest[1].kind == "string":
        return rest[1].value
    number = int(rest[1].text[1:])
    return str(values[number - 1]) if 0 < number <= len(values) else ""


@dataclass(frozen=True, slots=True)
class Declared:
    """DECLARE: a cursor's name, its query, and whether it outlives the transaction."""

    name: str
    query: Statement
    hold: bool


def read_declare(given: Statement) -> Declared:
    """What DECLARE declares."""
    words = [token.upper for token in given.tokens]
    if "CURSOR" not in words or "FOR" not in words[words.index("CURSOR") :] or len(words) < 4:
        raise SqlError("DECLARE needs a name and a query", fix="DECLARE c CURSOR FOR SELECT ...")
    start = words.index("FOR", words.index("CURSOR"))
    between = words[words.index("CURSOR") + 1 : start]
    hold = between == ["WITH", "HOLD"]
    return Declared(given.tokens[1].value, given.after(start + 1), hold)


@dataclass(frozen=True, slots=True)
class Fetch:
    """FETCH: a cursor's name and the most rows, None for all."""

    name: str
    limit: int | None


def read_fetch(given: Statement) -> Fetch:
    """What FETCH fetches: forward alone."""
    rest = [token for token in given.tokens[1:] if token.upper not in ("FROM", "IN", "FORWARD")]
    if not rest:
        raise SqlError("FETCH needs a cursor", fix="FETCH 100 FROM c")
    *amount, name = rest
    words = [token.upper for token in amount]
    forward = given.tokens[1].upper == "FORWARD"
    if words in ([], ["NEXT"]):
        return Fetch(name.value, 1)
    if words == ["ALL"]:
        return Fetch(name.value, None)
    if len(words) == 1 and amount[0].kind == "number" and words[0].isdigit():
        return Fetch(name.value, int(words[0]))
    raise NotSupportedError(
        "cursors go forward only",
        why="their rows are sent once",
        fix=f"FETCH {'FORWARD ' if forward else ''}100 FROM {name.value}",
    )
