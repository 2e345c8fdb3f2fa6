"""Which rows of each person stay, said once for every engine."""

from __future__ import annotations

from dataclasses import dataclass

_NUMBER = "probe_sql_row_number"


@dataclass(frozen=True, slots=True)
class FirstRows:
    """The first rows of each person, all as SQL of one engine.

    Privacy: `order` begins with a keyed hash of the row and goes on with the row itself, so that
    rows which tie are the same to every query. Which rows of a person stay is then a function of
    that person's rows, the key and their number; other people and the order of rows play no part.
    """

    person: str
    columns: tuple[str, ...]
    order: tuple[str, ...]

    def select(
        self, origin: str, most: str, *, kept: str = "", carried: str = "", alone: bool = False
    ) -> str:
        """SQL for the first `most` rows of each person in `origin`, a FROM with its WHERE.

        `kept` are the columns as they are kept, where not as they are. `carried` is a column of
        `origin` that `most` reads. With `alone` every row without a person stays.
        """
        listed = ", ".join(self.columns)
        inner = f"{listed}, {carried}" if carried else listed
        order = ", ".join(self.order)
        numbered = f"ROW_NUMBER() OVER (PARTITION BY {self.person} ORDER BY {order}) AS {_NUMBER}"
        stays = f"t.{_NUMBER} <= {most}"
        stays = f"{self.person} IS NULL OR {stays}" if alone else stays
        ranked = f"SELECT {inner}, {numbered} FROM {origin}"
        return f"SELECT {kept or listed} FROM ({ranked}) AS t WHERE {stays}"
