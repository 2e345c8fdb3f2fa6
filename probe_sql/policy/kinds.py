"""What a setting of a policy may hold: each kind checks a value and describes it to editors."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from fractions import Fraction
from typing import Any, ClassVar

from probe_sql.errors import PolicyError, Problem
from probe_sql.policy.names import bare, dotted, frozen, quoted, storable
from probe_sql.text import normal_name, suggest
from probe_sql.types import Kind as SqlKind
from probe_sql.types import SqlType, parse_type

COUNT_LIMIT = 10**15  # of rows and groups: far beyond any table, exact in every number type
BOUND_LIMIT = 1e38  # sums are 128-bit integers
GRID_LIMIT = 10**30
EPSILON_LOW, EPSILON_HIGH = 1e-12, 1e6  # one unit of the ledger; beyond any use
Schema = dict[str, Any]
Wrong = str | tuple[str, str] | None  # what is wrong with a value, and a fix of its own

_TYPES = ("INTEGER", "BIGINT", "DOUBLE", "DECIMAL(18,2)", "VARCHAR", "BOOLEAN", "DATE", "TIMESTAMP")
# In this order: Python counts truth values as whole numbers, and timestamps as dates.
_NOUNS: dict[type, str] = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a string",
    datetime: "a timestamp", date: "a date", time: "a time of day", dict: "a table",
    list: "a list", tuple: "a list",
}  # fmt: skip
_FRACTION = re.compile(r"\d{1,70}(/[1-9]\d{0,30})?", re.ASCII)


class Findings:
    """Problems of one value, under its path."""

    __slots__ = ("at", "problems")

    def __init__(self, at: str) -> None:
        self.at = at
        self.problems: dict[Problem, None] = {}  # each once, in order

    def path(self, key: str) -> str:
        """The path of `key` below the value's; an empty key is the value."""
        return f"{self.at}.{key}" if key and self.at else key or self.at

    def add(self, key: str, what: str, fix: str) -> None:
        """Note a problem at `key` below the value's path."""
        self.problems[Problem(self.path(key), what, fix)] = None

    def finish(self) -> None:
        """Raise everything that was found, at once; return if that is nothing."""
        if self.problems:
            raise PolicyError(tuple(self.problems))


def is_a(value: object, kind: Any) -> bool:
    """isinstance for values that code without type hints may have got wrong."""
    return isinstance(value, kind)


def as_tuple(value: Any) -> Any:
    """A list as a tuple, anything else as it is."""
    return tuple(value) if isinstance(value, list) else value


def is_number(value: object) -> bool:
    """A number, and not a truth value (which Python also counts as one)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: object) -> bool:
    """A whole number, and not a truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def show(value: object) -> str:
    """`value` for a message: as TOML writes it, and short."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) >= 10**40:
        return "a number of more than 40 digits"
    if isinstance(value, str):
        text = quoted(value) if storable(value) else ascii(value)
    elif isinstance(value, datetime | date | time):
        text = value.isoformat()
    elif isinstance(value, int | float):
        text = repr(value)
    else:
        return kind_of(value)
    return text if len(text) <= 60 else text[:56] + "..."


def kind_of(value: object) -> str:
    """What sort of TOML value this is, with its article."""
    return next(
        (name for kind, name in _NOUNS.items() if isinstance(value, kind)), "something else"
    )


@dataclass(frozen=True, slots=True)
class Kind:
    """Any value at all; the others narrow it. `stand_in` is a value that does no harm."""

    stand_in: ClassVar[Any] = None

    def check(self, found: Findings, key: str, value: Any, example: str) -> bool:
        """Note what is wrong with the value; True where nothing is."""
        wrong = self.wrong(value)
        if wrong is None:
            return True
        found.add(key, *((wrong, f"write {example}") if isinstance(wrong, str) else wrong))
        return False

    def wrong(self, value: Any) -> Wrong:  # noqa: ARG002
        """What is wrong with the value, with a fix if the setting's example is not one."""
        return None

    def read(self, found: Findings, key: str, raw: Any) -> Any:  # noqa: ARG002
        """What a file says, as code would say it; None with a problem where it says nothing."""
        return raw

    def kept(self, value: Any) -> Any:
        """A sound value as the policy keeps it: nothing in it can be changed."""
        return as_tuple(value)

    def written(self, value: Any) -> Any:
        """The value as a file says it, where that is another one."""
        return value

    def schema(self) -> Schema:
        """The kind as JSON Schema says it."""
        return {}


@dataclass(frozen=True, slots=True)
class Text(Kind):
    """A string that is not empty and that a database can hold."""

    stand_in: ClassVar[str] = ""

    def wrong(self, value: Any) -> Wrong:
        if not isinstance(value, str):
            return f"this must be a string, not {kind_of(value)}"
        if not value:
            return "this string is empty"
        return None if storable(value) else "this string has characters no database can hold"

    def schema(self) -> Schema:
        return {"type": "string", "minLength": 1}


@dataclass(frozen=True, slots=True)
class Matching(Text):
    """A string of one form, such as a size."""

    noun: str
    pattern: str

    def wrong(self, value: Any) -> Wrong:
        what = Text.wrong(self, value)
        if what is None and not re.fullmatch(self.pattern, value, re.ASCII):
            return f"{show(value)} is not {self.noun}"
        return what

    def schema(self) -> Schema:
        return {"type": "string", "pattern": f"^{self.pattern}$"}


_SECONDS = {"s": 1, "min": 60, "h": 3_600, "d": 86_400}


@dataclass(frozen=True, slots=True)
class Size(Matching):
    """A size in memory or on disk: MB are thousands, MiB 1,024ths."""

    noun: str = "a size"
    pattern: str = r"[0-9]{1,9}(\.[0-9]{1,3})? ?([KMGT]B|[KMGT]iB)"

    @staticmethod
    def bytes(text: str) -> int:
        """How many bytes a size is."""
        number, unit = text.rstrip("KMGTiB").strip(), text.lstrip("0123456789. ")
        power = "KMGT".index(unit[0]) + 1
        return int(Fraction(number) * (1024 if "i" in unit else 1000) ** power)


@dataclass(frozen=True, slots=True)
class TimeSpan(Matching):
    """How long something lasts, in one of some units."""

    @classmethod
    def of(cls, *units: str) -> TimeSpan:
        """The kind of those times that are written in one of the units."""
        return cls("a time", rf"[1-9][0-9]{{0,5}} ?({'|'.join(units)})")

    @staticmethod
    def seconds(text: str) -> int:
        """How many seconds a time is."""
        unit = text.lstrip("0123456789 ")
        return int(text.removesuffix(unit)) * _SECONDS[unit]


@dataclass(frozen=True, slots=True)
class Choice(Kind):
    """One of a few words."""

    words: tuple[str, ...]
    says: str

    def wrong(self, value: Any) -> Wrong:
        if isinstance(value, str) and value in self.words:
            return None
        return f"{show(value)} does not say {self.says}"

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


@dataclass(frozen=True, slots=True)
class Whole(Kind):
    """A whole number from `low` to `high`."""

    low: int = 1
    high: int = COUNT_LIMIT

    def wrong(self, value: Any) -> Wrong:
        if not is_whole(value):
            return f"this must be a whole number, not {kind_of(value)}"
        if not self.low <= value <= self.high:
            return f"{show(value)} is not between {self.low} and {self.high}"
        return None

    def schema(self) -> Schema:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Amount(Kind):
    """A finite number above zero, at least `low` and at most `high`."""

    low: float = EPSILON_LOW
    high: float = EPSILON_HIGH
    stand_in: ClassVar[float] = EPSILON_HIGH

    def wrong(self, value: Any) -> Wrong:
        if not is_number(value):
            return f"this must be a number, not {kind_of(value)}"
        if isinstance(value, float) and not math.isfinite(value):
            return f"{value} is not a finite number"
        if value <= 0:
            return f"{show(value)} is not above zero"
        if not self.low <= value <= self.high:
            return f"{show(value)} is not between {self.low:g} and {self.high:g}"
        return None

    def kept(self, value: Any) -> Any:
        return None if value is None else float(value)

    def schema(self) -> Schema:
        least = {"minimum": self.low} if self.low else {"exclusiveMinimum": 0}
        return {"type": "number", **least, "maximum": self.high}


@dataclass(frozen=True, slots=True)
class Amounts(Kind):
    """A table of names and amounts."""

    amount: Amount
    of: str
    usual: str

    def check(self, found: Findings, key: str, value: Any, example: str) -> bool:
        if not isinstance(value, Mapping):
            what = f"this must be a table of {self.of}, not {kind_of(value)}"
            found.add(key, what, f"write {example}")
            return False
        sound = True
        for name, amount in value.items():
            at = dotted(key, str(name))
            sound &= Text().check(found, at, name, example) and (
                self.amount.check(found, at, amount, f"{bare(name)} = {self.usual}")
            )
        return sound

    def kept(self, value: Any) -> Any:
        return frozen({name: self.amount.kept(amount) for name, amount in value.items()})

    def schema(self) -> Schema:
        return {"type": "object", "additionalProperties": self.amount.schema()}


@dataclass(frozen=True, slots=True)
class Names(Kind):
    """A list of column names, each once."""

    stand_in: ClassVar[tuple[str, ...]] = ()

    def wrong(self, value: Any) -> Wrong:
        if not is_a(value, tuple | list) or not all(is_a(name, str) and name for name in value):
            return "this must be a list of column names"
        if not value:
            return "the list of columns is empty"
        folded = [normal_name(name) for name in value]
        twice = [name for i, name in enumerate(value) if folded[i] in folded[:i]]
        return (f"the column {twice[0]} is there twice", "name each column once") if twice else None

    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True}


@dataclass(frozen=True, slots=True)
class Bounds(Kind):
    """The least and the greatest value that a number can have."""

    def wrong(self, value: Any) -> Wrong:
        if not isinstance(value, tuple | list):
            return f"bounds are a list of two numbers, not {kind_of(value)}"
        if len(value) != 2:
            return f"bounds are two numbers, and these are {len(value)}"
        for bound in value:
            if not is_number(bound):
                return f"bounds are numbers, and {show(bound)} is not one"
        if any(isinstance(bound, float) and not math.isfinite(bound) for bound in value):
            return "bounds must be finite"
        if any(abs(bound) > BOUND_LIMIT for bound in value):
            return f"bounds must lie within {BOUND_LIMIT:g} of zero"
        low, high = value
        if low > high:
            what = f"the lower bound {show(low)} is above the upper bound {show(high)}"
            return what, f"write bounds = [{show(high)}, {show(low)}]"
        if low == high:
            return f"the bounds are empty: every value would count as {show(low)}"
        return None

    def schema(self) -> Schema:
        return {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2}


@dataclass(frozen=True, slots=True)
class Grid(Kind):
    """The distance of values that can be told apart, as an exact fraction."""

    def wrong(self, value: Any) -> Wrong:
        grid = self.kept(value)
        if not isinstance(grid, Fraction):
            what = "finite" if is_number(grid) else f"a number, not {kind_of(grid)}"
            return f"the granularity must be {what}"
        if grid <= 0:
            return "the granularity must be above zero"
        if grid.denominator > GRID_LIMIT or grid > BOUND_LIMIT:
            return "the granularity has more than 30 decimals, or is beyond any bounds"
        return None

    def read(self, found: Findings, key: str, raw: Any) -> Any:  # noqa: ARG002
        if is_number(raw) and abs(raw) < 1e300:
            return Fraction(repr(raw))
        return Fraction(raw) if isinstance(raw, str) and _FRACTION.fullmatch(raw) else raw

    def kept(self, value: Any) -> Any:
        return Fraction(value) if is_whole(value) else value

    def schema(self) -> Schema:
        above = {"type": "number", "exclusiveMinimum": 0}
        return {"anyOf": [above, {"type": "string", "pattern": "^[0-9]+(/[0-9]+)?$"}]}


@dataclass(frozen=True, slots=True)
class TypeName(Kind):
    """A type by its name in SQL; in code, a `SqlType`."""

    def wrong(self, value: Any) -> Wrong:
        good = isinstance(value, SqlType)
        return None if good else ("this is not a SqlType", 'use parse_type("DATE")')

    def read(self, found: Findings, key: str, raw: Any) -> SqlType | None:
        if not isinstance(raw, str):
            found.add(key, f"this must be a string, not {kind_of(raw)}", 'write type = "DATE"')
        elif (sql_type := parse_type(raw)).kind is not SqlKind.OTHER:
            return sql_type
        else:
            near = suggest(raw, _TYPES)
            fix = f'did you mean type = "{near}"?' if near else f"use one of {', '.join(_TYPES)}"
            found.add(key, f"{show(raw)} is not a type this engine knows", fix)
        return None

    def schema(self) -> Schema:
        return {"type": "string"}
