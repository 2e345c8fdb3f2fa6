"""Sentences of `grammar/probe_sql.lark`, with names that the test policy supplies.

The Lark grammar is walked rule by rule, with a bound on the depth. Names cannot be context
free (a selected key must stand in GROUP BY), so the walk yields terminals first and names
are filled in afterwards, from left to right.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import TypeVar

from hypothesis import assume
from hypothesis import strategies as st
from lark import Lark
from lark.grammar import NonTerminal
from lark.lexer import PatternStr

from tests.examples.hospital import STAYS

T = TypeVar("T")
GRAMMAR = Path(__file__).parent.parent.parent / "grammar" / "probe_sql.lark"
DEPTH = 22  # of the derivation
# Rules that take more of the depth: what stands inside them stays short.
_COSTS = {"condition": 3, "number": 3, "text": 3, "bounded": 2, "moment": 2}

_LITERALS: Mapping[str, Sequence[str]] = {
    "NUMBER": ("1", "2", "7", "0.5", "65.25", "1000", "12345678901", "1e3", "0.001"),
    "WHOLE": ("1", "2", "3", "100"),
    "DIGITS": ("0", "2", "-1"),
    "STEPS": ("1", "4"),
    "SMALL": ("0.05", ".1", "0.25", "0.499"),
    "SHARE": ("0.5", "0.9", ".25", "1"),
    "POSITIVE": ("1", "2.5", "40"),
    "TEXT": ("'viral'", "''", "'a%'", "'it''s'", "'%_'", "'A'", "'17'"),
    "MOMENT": ("DATE '2020-03-05'", "TIMESTAMP '2020-03-02 08:30:00'", "DATE '0001-01-01'"),
    "COMPARE": (">", ">=", "<", "<=", "=", "<>", "!="),
    "ORDER": ("MIN", "MAX", "MEDIAN"),
    "ALGORITHM": ("'probe'", "'naive'", "'apex'", "'probe-naive'", "'probe-ent'", "'ladder'"),
    "PRIMARY": ("'fnr'", "'fpr'"),
    "PROOF": ("'audited'", "'strict'"),
    "SPEND": ("'least'", "'all'"),
    "RELATIVE": ("'5%'", "'2.5% or 100 rows'"),
    "EXHAUSTED": ("'deny'", "'mark'"),
    "SCOPE": ("'rate'", "'group'"),
    "NUMBER_TYPE": ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL(10,2)", "DECIMAL(18,4)"),
    "PART": (
        "year", "quarter", "month", "week", "day", "dayofweek", "dayofyear", "hour", "minute",
        "second", "isodow",
    ),
    "PART_NAME": ("'year'", "'week'", "'dow'", "'doy'", "'second'", "'isodow'"),
    "TRUNCATION": ("'minute'", "'hour'", "'day'", "'week'", "'month'", "'quarter'", "'year'"),
    "INTERVAL": ("INTERVAL '3' MONTH", "INTERVAL 90 DAY", "INTERVAL '1' YEAR", "INTERVAL 5 HOUR"),
    "PERCENTILE": ("PERCENTILE_DISC", "PERCENTILE_CONT"),
    "FORMAT": ("'%Y-%m'", "'%d.%m.%Y %H:%M:%S'", "'%B %A %j%%'"),
    "DIFFERENCE": ("'second'", "'hour'", "'day'", "'week'", "'month'", "'year'"),
}  # fmt: skip
_COLUMNS: Mapping[str, Sequence[str]] = {
    "NUMBER_COLUMN": (
        "age", "cost", "paid", "weight", "score", "steps", "share", "zone", "visits",
        "ledger_no", "grade", "floor_no",
    ),
    "INTEGER_COLUMN": ("age", "steps", "zone", "grade", "floor_no"),
    "BOUNDED_COLUMN": (
        "age", "cost", "paid", "weight", "score", "steps", "share", "giant", "zone",
    ),
    "POSITIVE_COLUMN": ("age", "cost", "weight", "steps", "share"),
    "TEXT_COLUMN": ("name", "sex", "origin", "ward", "disease", "site"),
    "MOMENT_COLUMN": ("admitted", "arrived", "born", "seen", "precise"),
    "DATE_COLUMN": ("admitted", "born"),
    "BOOLEAN_COLUMN": ("urgent", "insured"),
}  # fmt: skip
# Keys by the column they read; {} is that column.
_KEYS: Mapping[str, Sequence[str]] = {
    "ward": ("{}", "{}", "upper({})", "{} || 'x'"),
    "zone": ("{}", "{}", "{} % 2", "abs({})"),
    "admitted": ("{}", "{}", "date_trunc('week', {})", "month({})", "CAST({} AS VARCHAR)"),
    "arrived": ("date_trunc('day', {})", "date_trunc('hour', {})", "CAST({} AS DATE)"),
    "disease": ("{}", "{}", "lower({})"),
    "urgent": ("{}",),
    "age": ("floor({} / 10) * 10", "{} // 20", "width_bucket({}, 0, 100, 5)"),
    "weight": ("floor({} / 50)", "round({}, -2)"),
    "insured": ("{}",),
    "site": ("{}",),
    "floor_no": ("{}",),
}
_PARAMETERS: Mapping[str, Sequence[float | str]] = {
    "NUMBER_PARAMETER": (1, 0.5, -3, 1e6),
    "TEXT_PARAMETER": ("viral", "", "it's"),
    "SMALL_PARAMETER": (0.05, 0.25),
}
_TABLES = {"PUBLIC_PAIR_TABLE": "floors", "SHARING_TABLE": "wards"}
_SINGLE = (("diseases", "name", "disease", ("cap", "rate")), ("wards", "ward", "ward", ("beds",)))
_PAIR = (("site", "site"), ("floor", "floor_no"))


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the grammar and the values of its `?`."""

    sql: str
    parameters: tuple[float | str, ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A terminal of a derivation, the rules it stands in, and the number of the innermost one."""

    name: str
    rules: tuple[str, ...]
    node: int


Expansions = Mapping[str, Sequence[tuple[tuple[str, bool], ...]]]


@cache
def grammar() -> tuple[Expansions, Mapping[str, str], Mapping[str, int]]:
    """Rules as lists of (symbol, is a rule), texts of plain terminals, least depth of rules."""
    lark = Lark(GRAMMAR.read_text(encoding="utf-8"), parser="earley", lexer="dynamic")
    terminals, compiled, _ = lark.grammar.compile(["start"], ())
    texts = {t.name: t.pattern.value for t in terminals if isinstance(t.pattern, PatternStr)}
    rules: dict[str, list[tuple[tuple[str, bool], ...]]] = {}
    for rule in compiled:
        expansion = tuple((s.name, isinstance(s, NonTerminal)) for s in rule.expansion)
        rules.setdefault(str(rule.origin.name), []).append(expansion)
    return rules, texts, _least_depths(rules)


def _least_depths(rules: Expansions) -> Mapping[str, int]:
    depths: dict[str, int] = {}
    changed = True
    while changed:
        changed = False
        for name, expansions in rules.items():
            for expansion in expansions:
                parts = [depths.get(symbol) if rule else 0 for symbol, rule in expansion]
                if None in parts:
                    continue
                depth = _COSTS.get(name, 1) + max(
                    (part for part in parts if part is not None), default=0
                )
                if depth < depths.get(name, 10**6):
                    depths[name] = depth
                    changed = True
    return depths


def _derive(draw: st.DrawFn, rule: str, depth: int, above: tuple[str, ...]) -> list[Token]:
    """Terminals of a random derivation that is at most `depth` rules deep."""
    rules, _, least = grammar()
    counter = count()

    def walk(name: str, left: int, above: tuple[str, ...]) -> list[Token]:
        node, within = next(counter), (*above, name)
        left -= _COSTS.get(name, 1)
        possible = [
            expansion
            for expansion in rules[name]
            if all(not inner or least[symbol] <= left for symbol, inner in expansion)
        ]
        tokens: list[Token] = []
        for symbol, inner in draw(st.sampled_from(sorted(possible, key=len))):
            if inner:
                tokens += walk(symbol, left, within)
            else:
                tokens.append(Token(symbol, within, node))
        return tokens

    return walk(rule, depth, above)


@dataclass(slots=True)
class _Filler:
    """Supplies names from left to right; what must agree across clauses is chosen first."""

    draw: st.DrawFn
    tokens: list[Token]
    texts: Mapping[str, str]
    parameters: list[float | str] = field(default_factory=list)
    ctes: int = 0
    joins: list[tuple[str, str]] = field(default_factory=list)  # alias, table
    joining: int = -1
    sides: int = 0
    keys: list[str] = field(default_factory=list)
    all: bool = False
    placed: int = 0
    grouped: dict[int, str] = field(default_factory=dict)
    public: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    main: str = "stays"
    new: int = 0

    def run(self) -> Sentence:
        names = [token.name for token in self.tokens]
        if "CTE" in names:
            self.main = f"c{names.count('CTE')}"
        if "ALIAS" in names:
            self.main = "s"
        for name in names:
            if name == "PUBLIC_TABLE" or name in _TABLES:
                table = _TABLES.get(name) or self.pick(_SINGLE)[0]
                self.joins.append((f"j{len(self.joins) + 1}", table))
        if "SHARING_TABLE" in names:  # USING needs one column of that name on the left
            assume([table for _, table in self.joins].count("wards") == 1)
        self.all = "ALL" in names and "GROUPED" in names
        self._choose_keys(names)
        sql = _once(" ".join(map(self.word, self.tokens)))
        # Options that stood twice are gone, and they come last.
        return Sentence(sql, tuple(self.parameters[: sql.count("?")]))

    def pick(self, values: Sequence[T]) -> T:
        return self.draw(st.sampled_from(values))

    def _choose_keys(self, names: list[str]) -> None:
        columns = self.draw(st.permutations(list(_KEYS)))
        mate = None
        for table, _, column, numbers in _SINGLE:
            alias = next((a for a, name in self.joins if name == table), None)
            if alias is not None and mate is None and not self.all:
                mate = column
                self.public = [f"{alias}.{number}" for number in numbers]
        if mate is not None:
            columns = [mate, *(column for column in columns if column != mate)]
        instances = list(dict.fromkeys(t.node for t in self.tokens if t.name == "GROUPED"))
        wanted = len(instances) if self.all else max(1, names.count("GROUP_KEY"))
        assume(wanted <= len(columns))
        for column in columns[:wanted]:
            shapes = [s for s in _KEYS[column] if not self.all or not s.startswith("CASE")]
            shape = "{}" if column == mate else self.pick(shapes)
            self.keys.append(shape.format(self.column(column, ())))
        for index, node in enumerate(instances):
            self.grouped[node] = self.keys[index] if self.all else self.pick(self.keys)

    def column(self, name: str, rules: tuple[str, ...]) -> str:
        return f"{self.main}.{name}" if self.joins and "subselect" not in rules else name

    def word(self, token: Token) -> str:
        name = token.name
        if name == "ALL":
            return "ALL" if self.all else self.keys[0]
        if name in _PARAMETERS:
            self.parameters.append(self.pick(_PARAMETERS[name]))
            return "?"
        if name in self.texts:
            return self.texts[name]
        if name in _LITERALS:
            return str(self.pick(_LITERALS[name]))
        if name in _COLUMNS:
            return self.column(self.pick(_COLUMNS[name]), token.rules)
        if name == "GROUPED":
            return self.grouped[token.node]
        if name == "SOURCE" and "cte" in token.rules:
            return f"c{self.ctes - 1}" if self.ctes > 1 else "stays"
        return str(_NAMES[name](self))

    # --- names ---

    def source(self) -> str:
        return f"c{self.ctes}" if self.ctes else "stays"

    def cte(self) -> str:
        self.ctes += 1
        return f"c{self.ctes}"

    def table(self) -> str:
        self.joining += 1
        self.sides = 0
        alias, table = self.joins[self.joining]
        return f"{table} AS {alias}"

    def _sides(self) -> tuple[str, str]:
        table = self.joins[self.joining][1]
        if table == "floors":
            return _PAIR[self.sides]
        return next((key, mate) for name, key, mate, _ in _SINGLE if name == table)

    def public_key(self) -> str:
        return f"{self.joins[self.joining][0]}.{self._sides()[0]}"

    def joined(self) -> str:
        mate = self._sides()[1]
        self.sides += 1
        return f"{self.main}.{mate}"

    def group_key(self) -> str:
        self.placed += 1
        return self.keys[self.placed - 1]

    def name(self) -> str:
        self.names.append(f"n{len(self.names) + 1}")
        return self.names[-1]

    def derived(self) -> str:
        self.new += 1
        return f"x{self.new}"

    def measured_as(self) -> str:
        self.measured.append(f"m{len(self.measured) + 1}")
        return self.measured[-1]

    def measured_name(self) -> str:
        return self.pick(self.measured) if self.measured else "count(*)"

    def selected(self) -> str:
        return self.pick([*self.names, *self.measured, "1"])

    def dependent(self) -> str:
        return self.pick(self.public) if self.public and not self.all else self.keys[0]

    def public_number(self) -> str:
        return self.pick(self.public) if self.public else "7"


_NAMES: Mapping[str, Callable[[_Filler], str]] = {
    "SOURCE": _Filler.source,
    "CTE": _Filler.cte,
    "ALIAS": lambda _: "s",
    "COLUMNS": lambda _: ", ".join(STAYS),
    "GROUP_KEY": _Filler.group_key,
    "DEPENDENT": _Filler.dependent,
    "KEY_TEXT": lambda filler: f"CAST({filler.keys[0]} AS VARCHAR)",
    "NAME": _Filler.name,
    "MEASURED": _Filler.measured_as,
    "MEASURED_NAME": _Filler.measured_name,
    "VALUED": lambda filler: filler.measured[0] if filler.measured else '"count(*)"',
    "OTHER_VALUED": lambda filler: filler.measured[-1] if filler.measured[1:] else '"sum(cost)"',
    "SHOWN": lambda filler: filler.measured[-1],
    "SELECTED": _Filler.selected,
    "POSITION": lambda _: "1",
    "PUBLIC_TABLE": _Filler.table,
    "PUBLIC_PAIR_TABLE": _Filler.table,
    "SHARING_TABLE": _Filler.table,
    "SHARED": lambda _: "ward",
    "DERIVED": _Filler.derived,
    "PUBLIC_KEY": _Filler.public_key,
    "JOINED": _Filler.joined,
    "PUBLIC_NUMBER": _Filler.public_number,
}


def _selected(head: str) -> str:
    """The SELECT list of a query, after its CTEs and up to its own FROM."""
    words: list[str] = []
    depth = 0
    for word in head[max(head.rfind(") SELECT "), 0) :].upper().lstrip(") ").split():
        depth += word.count("(") - word.count(")")
        if word == "FROM" and not depth:
            break
        words.append(word)
    return " ".join(words)


def _options(body: str) -> list[str]:
    """What stands between the commas that no parenthesis holds."""
    found, depth = [""], 0
    for letter in body:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return found


def _once(sql: str) -> str:
    """The sentence with each accuracy option at its first place only, and `fdr` where it may be."""
    head, clause, options = sql.partition("WITH ACCURACY (")
    if not clause:
        return sql
    body, close, tail = options.rpartition(")")
    found: dict[str, str] = {}
    for option in _options(body):
        found.setdefault(option.split("=")[0].strip(), option.strip())
    selected = _selected(head)
    if "%" in found.get("margin", "") and any(part in selected for part in ("AVG", *"/+-")):
        found["margin"] = "margin = 40"  # a share is of counts and sums by themselves
    if "all" in found.get("spend", ""):
        found["algorithm"] = "algorithm = 'ladder'"
        for name in ("fdr", "fpr", "primary", "fpr_scope"):
            found.pop(name, None)
    if "strict" in found.get("proof", ""):
        found["algorithm"] = "algorithm = 'ladder'"
    if "fdr" in found:
        found["algorithm"] = "algorithm = 'ladder'"
        found.pop("primary", None)
        found.pop("fpr_scope", None)
    return f"{head}{clause}{', '.join(found.values())}{close}{tail}"


@st.composite
def sentences(draw: st.DrawFn, depth: int = DEPTH) -> Sentence:
    """A sentence of the grammar."""
    _, texts, _ = grammar()
    return _Filler(draw, _derive(draw, "start", depth, ()), texts).run()
