"""Names in the policy file: how they are looked up, written, and put into paths."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Protocol, TypeVar

from probe_sql.text import normal_name, suggest

T = TypeVar("T")
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class Named(Protocol):
    """Anything a mapping can hold under its own name."""

    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def find(mapping: Mapping[str, T], name: str) -> T | None:
    """Look `name` up as SQL does, without regard to case; None if it is absent."""
    if name in mapping:
        return mapping[name]
    folded = normal_name(name)
    return next((value for key, value in mapping.items() if normal_name(key) == folded), None)


def by_name(*items: N) -> dict[str, N]:
    """Put columns or tables under their names: `columns=by_name(Column("age"), ...)`."""
    return {item.name: item for item in items}


def frozen(mapping: Mapping[str, T]) -> Mapping[str, T]:
    """A read-only copy."""
    return MappingProxyType(dict(mapping))


def quoted(text: str) -> str:
    """`text` as a TOML basic string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def bare(name: str) -> str:
    """`name` as a TOML key, quoted only where it must be."""
    return name if _BARE.fullmatch(name) else quoted(name)


def dotted(*parts: str | int) -> str:
    """Dotted path of a key in the file; numbers are positions in a list."""
    text = ""
    for part in parts:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + bare(str(part))
    return text


def meant(word: str, known: Iterable[str], otherwise: str) -> str:
    """A fix for a name that does not exist: the one that was meant, if one is near."""
    near = suggest(word, known)
    return otherwise if near is None else f"did you mean {quoted(near)}? Otherwise {otherwise}"


def storable(text: str) -> bool:
    """Whether a database and a file can hold `text`: no NUL, no half of a character."""
    return "\0" not in text and not any(0xD800 <= ord(c) <= 0xDFFF for c in text)
