"""Neighbouring databases for the black-box audit, each where one row, or one user, counts most.

A group is reported when its noisy value exceeds t - u (under apex, t). At a true value of exactly
that the events "reported" and "not reported" attain the loss that is charged, and both are
frequent: with fnr and u as here, a thousand runs prove most of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Row = tuple[int, int, str, int | None]  # g, x, sex, who


def rows(group: int, *values: int, sex: str = "M") -> tuple[Row, ...]:
    """Rows of a group, each of a user of its own."""
    first = 1000 * (group + 1) + (500 if sex == "F" else 0)
    return tuple((group, value, sex, first + i) for i, value in enumerate(values))


def counts(*numbers: int) -> tuple[Row, ...]:
    """So many rows in groups 0, 1, ..."""
    return tuple(row for group, n in enumerate(numbers) for row in rows(group, *[10] * n))


def user(*groups: int, who: int | None = 99) -> tuple[Row, ...]:
    """One user with a row in each of the groups listed, as often as they are."""
    return tuple((group, index % 21, "F", who) for index, group in enumerate(groups))


@dataclass(frozen=True, slots=True)
class Atom:
    """A measure decided at `cut`: the threshold is there (apex), or `u` above it (the others)."""

    aggregate: str
    cut: int
    u: int

    def threshold(self, algorithm: str) -> int:
        return self.cut if algorithm == "apex" else self.cut + self.u


@dataclass(frozen=True, slots=True)
class Pair:
    """Two databases: `base`, and `base` with `extra`, one row or all rows of one user.

    HAVING is `having` with the thresholds of the atoms in the places {0}, {1}.
    """

    name: str
    base: tuple[Row, ...]
    extra: tuple[Row, ...]
    atoms: tuple[Atom, ...]
    more: tuple[tuple[str, Any], ...] = ()
    having: str = ""
    select: str = ""
    cuts: tuple[float, ...] = ()
    caps: str = ""  # the unit; empty for rows
    groups: tuple[int, ...] = (0,)  # whose values are looked at
    apex: tuple[Row, ...] = ()  # another base for apex, where its threshold cannot be moved

    def sql(self, algorithm: str) -> str:
        having = self.having or " AND ".join(
            f"{atom.aggregate} > {{{i}}}" for i, atom in enumerate(self.atoms)
        )
        having = having.format(*(atom.threshold(algorithm) for atom in self.atoms))
        shown = self.select or f"g, {self.atoms[0].aggregate} AS v"
        return f"SELECT {shown} FROM people GROUP BY g HAVING {having}"

    @property
    def options(self) -> dict[str, Any]:
        ranges = {atom.aggregate: 4.0 * atom.u for atom in self.atoms}
        return {"u": 0.25, "ranges": ranges, **dict(self.more)}

    @property
    def unit(self) -> str:
        return f'{{ column = "who", {self.caps} }}' if self.caps else '"row"'


FIRM = (("fnr", 0.005),)
ONE = ((0, 10, "M", 99),)
FIRST = "where false positives are bounded first"


def counted(cut: int, u: int) -> tuple[Atom, ...]:
    return (Atom("count(*)", cut, u),)


THRESHOLD = Pair("at a threshold", counts(3, 12, 0), ONE, counted(3, 3), FIRM, cuts=(3, 4, 5))
SUM = Pair(
    "at a bound of a sum", rows(0, 7, 10, 19) + counts(0, 20, 0), ((0, 20, "M", 99),),
    (Atom("sum(x)", 36, 54),), FIRM, cuts=(36, 46, 56),
)  # fmt: skip
CLEAR = rows(1, *[20] * 12) + rows(2, *[0] * 12)
AVERAGE = Pair(
    "at a bound of an average", rows(0, 0, 0, 0, 0, 6) + CLEAR, ((0, 20, "M", 99),),
    (Atom("avg(x)", -30, 39),), FIRM, "avg(x) > 9", "g", apex=rows(0, 9, 9, 9) + CLEAR,
)  # fmt: skip
FEMALE = Atom("count(*) FILTER (WHERE sex = 'F')", 3, 3)

PAIRS = (
    THRESHOLD,
    Pair("in a small group", counts(1, 12, 0), ONE, counted(1, 2), FIRM, cuts=(1, 2, 3)),
    Pair("alone in its group", counts(0, 12, 12), ONE, counted(0, 2), FIRM, cuts=(0, 1, 2)),
    SUM,
    AVERAGE,
    Pair("in two aggregates, in one arm of an OR", rows(0, 2, 4, 10, sex="F") + counts(0, 20, 0),
         ((0, 20, "F", 99),), (FEMALE, Atom("sum(x)", 16, 40)), (("fnr", 0.1),),
         f"({FEMALE.aggregate} > {{0}} AND sum(x) > {{1}}) OR "
         "count(*) FILTER (WHERE sex = 'M') > 9", "g"),
    Pair("in a value with a margin", rows(0, 10, 10, 10) + counts(0, 12, 0), ((0, 20, "M", 99),),
         counted(3, 3), (("margin", 45.0),), "", "g, sum(x) AS v", (30, 40, 50, 60)),
    Pair("where it must look again", counts(3, 3, 12), ONE, counted(3, 3),
         (("fnr", 0.02), ("fpr", 0.05)), cuts=(3, 4, 5, 6, 7)),
    Pair("where what is open is marked", counts(3, 3, 12), ONE, counted(3, 3),
         (("fnr", 0.02), ("fpr", 0.05), ("epsilon", 3.0), ("on_exhausted", "mark")),
         cuts=(3, 4, 5, 6, 7)),
    Pair(FIRST, counts(9, 20, 0), ONE, counted(6, 3),
         (("primary", "fpr"), ("fpr", 0.005), ("fnr", 0.3)), "count(*) > 6", cuts=(9, 10, 11)),
)  # fmt: skip

SURE = (("fnr", 0.02),)
ALL = (0, 1, 2)

USERS = (
    Pair("T: in one group", counts(4, 20, 0), user(0, 0, 0), counted(4, 4), cuts=(4, 5, 6, 7),
         caps="max_rows = 3"),
    Pair("T: beyond the cap", counts(4, 20, 0), user(*[0] * 9), counted(4, 4), cuts=(4, 5, 6, 7),
         caps="max_rows = 3"),
    Pair("T: in three groups", counts(4, 4, 4), user(0, 1, 2), counted(4, 4), SURE, cuts=(4, 5),
         caps="max_rows = 3", groups=ALL),
    Pair("T: a sum, beyond the cap", rows(0, 7, 10, 19) + counts(0, 20, 0),
         ((0, 20, "M", 99),) * 5, (Atom("sum(x)", 36, 54),), cuts=(36, 56, 76),
         caps="max_rows = 2"),
    Pair("M: beyond the cap", counts(8, 8, 8), user(*[0, 1, 2] * 3), counted(8, 9),
         cuts=(10,), caps="max_rows = 9, max_groups = 2", groups=ALL),
    Pair("R: within the cap", counts(4, 4, 4), user(0, 1, 2), counted(4, 4), SURE, cuts=(4, 5),
         caps="max_rows = 9, max_rows_per_group = 1", groups=ALL),
    Pair("R: beyond the cap", counts(4, 4, 4), user(*[0, 1, 2] * 3), counted(4, 4), SURE,
         cuts=(4, 5), caps="max_rows = 9, max_rows_per_group = 1", groups=ALL),
    Pair("M and R: within the caps", counts(5, 5, 20), user(0, 0, 1, 1), counted(5, 5),
         cuts=(5, 6, 7), caps="max_rows = 9, max_groups = 2, max_rows_per_group = 2",
         groups=(0, 1)),
    Pair("M and R: beyond the caps", counts(3, 3, 3), user(*[0, 1, 2] * 3), counted(3, 3),
         cuts=(3, 4), caps="max_rows = 9, max_groups = 2, max_rows_per_group = 1", groups=ALL),
    Pair("T: in two aggregates", counts(4, 20, 0), user(0, 0, 0),
         (*counted(4, 4), Atom("count(DISTINCT who)", 4, 4)), SURE, "", "g",
         caps="max_rows = 3"),
    Pair("people counted", counts(4, 4, 4), user(*[0, 1, 2] * 2),
         (Atom("count(DISTINCT who)", 4, 4),), SURE, cuts=(4, 5), caps="max_rows = 6",
         groups=ALL),
    Pair("a row without a user", counts(4, 20, 0), user(0, who=None), counted(4, 3), cuts=(4, 5),
         caps='max_rows = 2, null = "own"'),
)  # fmt: skip
