"""The arguments of the Python API, looked at before anything is opened or spent.

What is wrong comes back as an `InterfaceError` that says what would work, and never as one of
Python's own errors from somewhere inside.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Hashable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from probe_sql.errors import InterfaceError

_LONG = 10_000  # characters of a text that need not be told from others
_DEEP = 4  # lists within each other: a question has its parameters and accuracy in one
_NO_SOURCE = (bytes, bytearray, bool, int, float, list, tuple, set, frozenset)


def source(value: Any) -> None:
    """Refuse what is neither a path nor anything that holds tables."""
    if value is None or isinstance(value, _NO_SOURCE):
        raise InterfaceError(
            f"a source cannot be {_kind(value)}",
            fix="pass a path, a URL, an Arrow table, a frame, or a mapping of names to those",
        )
    if isinstance(value, str | os.PathLike):
        file_name(value, "source", "connect('clinic.duckdb', ...)")


def path(value: Any, what: str, fix: str) -> str:
    """The text of a path; what is none is refused."""
    text = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    if not isinstance(text, str):
        raise InterfaceError(f"the {what} must be a path, not {_kind(value)}", fix=fix)
    return text


def file_name(value: Any, what: str, fix: str) -> None:
    """Refuse what no file can be called."""
    text = path(value, what, fix)
    if not text:
        raise InterfaceError(f"the path of the {what} is empty", fix=fix)
    if "\0" in text:
        raise InterfaceError(f"the path of the {what} holds a zero byte", fix=fix)


def analyst(value: Any) -> None:
    """Refuse a name that no policy and no ledger could hold; None is nobody in particular."""
    fix = "connect(..., analyst='maria')"
    if value is None:
        return
    name(value, "analyst", fix)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InterfaceError(
            "the analyst's name holds half of a surrogate pair, which is no character", fix=fix
        ) from None


def name(value: Any, what: str, fix: str) -> None:
    """Refuse what is not text."""
    if not isinstance(value, str):
        raise InterfaceError(f"the {what} must be text, not {_kind(value)}", fix=fix)


def parameters(value: Any) -> Sequence[Any]:
    """The values of a query's `?`; None, which PEP 249's tools pass, is none."""
    if value is None:
        return ()
    if not isinstance(value, list | tuple):
        raise InterfaceError(
            f"parameters must be a list or a tuple, not {_kind(value)}",
            fix="db.sql(query, [value, ...])",
        )
    for index, each in enumerate(value):
        if getattr(each, "shape", ()) != ():
            raise InterfaceError(
                f"parameter {index + 1} is an array",
                fix="pass one number, text, date, timestamp, boolean or None for each ?",
            )
    return tuple(plain(each) if isinstance(each, str) else each for each in value)


def exactly(value: Any, depth: int = _DEEP) -> Hashable:
    """Give what tells a value from all that do not mean the same, or raise `TypeError`.

    1, 1.0 and true are equal and are not the same parameter; no more are decimals with other
    digits, and moments with other zones. It goes on telling what a list held that is changed later.
    What is of another type than these, very long, or lists in lists in lists, is not told.
    """
    kind: type = type(value)
    if value is None or kind in (bool, int) or (kind is str and len(value) <= _LONG):
        return kind.__name__, value
    if kind in (float, Decimal, date, datetime):
        return kind.__name__, str(value)
    if depth and kind in (list, tuple):
        return kind.__name__, tuple(exactly(each, depth - 1) for each in value)
    if depth and kind is dict:
        items = list(value.items())
        return "dict", tuple((exactly(a, depth - 1), exactly(b, depth - 1)) for a, b in items)
    raise TypeError


def plain(value: Any) -> Any:
    """Text itself, without what a class of the caller's adds: its own equality, say.

    Privacy: what is planned, charged and written into the ledger is one and the same text.
    """
    return str.__str__(value) if isinstance(value, str) else value


def count(value: Any, what: str, fix: str) -> int:
    """A whole number of at least 0."""
    try:
        number = operator.index(value)
    except TypeError:
        raise InterfaceError(
            f"the {what} must be a whole number, not {_kind(value)}", fix=fix
        ) from None
    if number < 0:
        raise InterfaceError(f"the {what} is negative", fix=fix)
    return number


def callback(value: Any) -> None:
    """Refuse a `progress` that could not be called."""
    if value is not None and not callable(value):
        raise InterfaceError(
            f"progress must be a function, not {_kind(value)}",
            fix="progress=lambda seconds: print(seconds)",
        )


def _kind(value: Any) -> str:
    return "None" if value is None else f"a value of the type {type(value).__name__}"
