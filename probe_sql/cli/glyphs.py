"""The signs that a terminal is drawn with, and their stand-ins where its encoding has none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One sign for each thing that is drawn."""

    epsilon: str = "ε"
    sure: str = "●"
    doubt: str = "○"
    bar: str = "━"
    margin: str = "┄"
    line: str = "│"
    full: str = "█"
    rest: str = "░"
    cut: str = "…"
    here: str = "→"


UNICODE = Glyphs()
ASCII = Glyphs("eps", "*", "o", "=", "-", "|", "#", ".", "~", ">")


def glyphs(stream: TextIO) -> Glyphs:
    """The signs that a stream can write."""
    try:
        "".join((UNICODE.epsilon, UNICODE.sure, UNICODE.margin, UNICODE.here)).encode(
            getattr(stream, "encoding", None) or "utf-8"
        )
    except (UnicodeEncodeError, LookupError):
        return ASCII
    return UNICODE


def meter(share: float, size: int, signs: Glyphs) -> str:
    """A bar of `size` signs that is full to a share; whatever is not nothing shows."""
    full = min(size, max(1 if share > 0 else 0, round(size * share)))
    return signs.full * full + signs.rest * (size - full)
