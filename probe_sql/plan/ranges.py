"""The public range of a measure: how large an algorithm takes it to be. Utility only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from probe_sql.measuring import Ints

DEFAULT_ROWS_PER_GROUP = 1_000


@dataclass(frozen=True, slots=True)
class Ranges:
    """What is known of sizes before a row is read: rows of a group, and ranges by their texts."""

    rows: int
    hints: Mapping[str, float]

    @classmethod
    def of(cls, rows: int | None, *hints: Mapping[str, float]) -> Ranges:
        """Take the rows of a group, where they are known, and hints; later ones win."""
        named = {_plain(name): value for each in hints for name, value in each.items()}
        return cls(rows or DEFAULT_ROWS_PER_GROUP, named)

    def hinted(self, text: str, aggregates: Sequence[str]) -> float | None:
        """Find the range that a hint gives to the aggregates of a comparison, in SQL units."""
        names = _names(text, aggregates)
        return next((self.hints[name] for name in names if name in self.hints), None)

    def guessed(self, delta: int, threshold: int | Ints | None) -> float:
        """Work out a range in steps, from the rows of a group and what one row adds.

        A start beyond the threshold decides nothing, so a single count or sum, of which the
        threshold t is given, has the range 2|t| where that is smaller (theory 3).
        """
        most = float(self.rows) * delta
        if isinstance(threshold, int) and abs(threshold) > 1:
            return min(most, 2.0 * abs(threshold))
        return most


def unused(
    hints: Mapping[str, float], comparisons: Sequence[tuple[str, Sequence[str]]]
) -> list[str]:
    """Name the hints that belong to none of these comparisons, given as texts and aggregates."""
    known = {name for text, aggregates in comparisons for name in _names(text, aggregates)}
    return [name for name in hints if _plain(name) not in known]


def _names(text: str, aggregates: Sequence[str]) -> list[str]:
    """The texts by which a hint can name a comparison: its own, or that of its one aggregate."""
    return [_plain(each) for each in (text, *(aggregates if len(aggregates) == 1 else ()))]


def _plain(text: str) -> str:
    return "".join(text.lower().split())
