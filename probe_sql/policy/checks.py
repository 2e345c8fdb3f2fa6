"""Small checks that the policy's values run on themselves; each adds to `Findings`."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from typing import Any

from probe_sql.errors import PolicyError, Problem
from probe_sql.policy.names import quoted, storable

COUNT_LIMIT = 10**15  # of rows and groups: far beyond any table, exact in every number type


class Findings:
    """Problems of one value, under the place at which it stands."""

    __slots__ = ("at", "problems")

    def __init__(self, at: str) -> None:
        self.at = at
        self.problems: list[Problem] = []

    def add(self, key: str, what: str, fix: str) -> None:
        """Note a problem at `key` below the value's place; an empty key is the value."""
        where = f"{self.at}.{key}" if key and self.at else key or self.at
        self.problems.append(Problem(where, what, fix))

    def finish(self) -> None:
        """Raise everything that was found, at once; return if that is nothing."""
        if self.problems:
            raise PolicyError(self.problems)


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
    names: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "true or false"),
        (int, "a whole number"),
        (float, "a number"),
        (str, "a string"),
        (datetime, "a timestamp"),
        (date, "a date"),
        (time, "a time of day"),
        (dict, "a table"),
        ((list, tuple), "a list"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "something else")


def check_text(found: Findings, key: str, value: object, example: str) -> bool:
    """A string that is not empty and that a database can hold."""
    if not isinstance(value, str):
        found.add(key, f"this must be a string, not {kind_of(value)}", f"write {example}")
    elif not value:
        found.add(key, "this string is empty", f"write {example}")
    elif not storable(value):
        found.add(key, "this string has characters no database can hold", f"write {example}")
    else:
        return True
    return False


def check_whole(
    found: Findings, key: str, value: object, example: str, low: int = 1, high: int = COUNT_LIMIT
) -> bool:
    """A whole number from `low` to `high`."""
    if not is_whole(value):
        what = f"this must be a whole number, not {kind_of(value)}"
    elif not low <= value <= high:  # type: ignore[operator]
        what = f"{show(value)} is not between {low} and {high}"
    else:
        return True
    found.add(key, what, f"write {example}")
    return False


def check_positive(
    found: Findings, key: str, value: object, example: str, high: float, low: float = 0.0
) -> bool:
    """A finite number above zero, at least `low` and at most `high`."""
    if not is_number(value):
        what = f"this must be a number, not {kind_of(value)}"
    elif isinstance(value, float) and not math.isfinite(value):
        what = f"{value} is not a finite number"
    elif value <= 0:  # type: ignore[operator]
        what = f"{show(value)} is not above zero"
    elif not low <= value <= high:  # type: ignore[operator]
        what = f"{show(value)} is not between {low:g} and {high:g}"
    else:
        return True
    found.add(key, what, f"write {example}")
    return False
