"""What a query gives back: rows, margins, and what they cost and promise.

An answer is complete when it is made. Printing, converting or copying one reads nothing
and spends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from probe_sql.answer.content import Content, Row
from probe_sql.answer.html import as_html
from probe_sql.answer.table import WHY_BELOW, as_text
from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.text import in_json, price

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow
    from matplotlib.axes import Axes

_DIGITS = 38  # of the widest decimals that all readers of Parquet have


@dataclass(frozen=True, slots=True)
class Answer(Content):
    """The content of an answer, with its conversions to text, HTML, JSON and frames."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __str__(self) -> str:
        return as_text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """The table, where IPython would show the parts."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return as_html(self)

    def as_dict(self) -> dict[str, Any]:
        """One JSON-ready object, as `probe-sql query --format json` prints it."""
        result: dict[str, Any] = {
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "status": self.status,
            "privacy": self.privacy.as_dict(),
        }
        if any(margin is not None for row in self.margins for margin in row):
            result["margins"] = [list(row) for row in self.margins]
            result["confidence"] = self.confidence
        if self.ranks:
            result["ranks"] = [list(row) for row in self.ranks]
            result["confidence"] = self.confidence
        if self.raw != self.rows:
            result["raw"] = [list(row) for row in self.raw]
        if self.marks:
            result["marks"] = list(self.marks)
        if any(self.below):
            result["below"] = list(self.below)
            result["below_means"] = WHY_BELOW
        if self.lines:
            result["lines"] = [[line.column, line.value, line.text] for line in self.lines]
        if self.derived:
            result["derived"] = list(self.derived)
        if self.blocks is not None:
            result["blocks"] = [_block_dict(name, block) for name, block in self.blocks]
        if self.notices:
            result["notices"] = list(self.notices)
        return result

    def plot(self, axes: Any = None) -> Axes:
        """A figure of matplotlib: values with their margins and the lines of HAVING."""
        from probe_sql.answer.plot import as_plot

        return as_plot(self, axes)

    def df(self, *, raw: bool = False, margins: bool = False) -> pandas.DataFrame:
        """The rows as a pandas frame; with `raw`, values as measured; with `margins`, a column
        for the margin of each value that has one, `n_margin` beside `n`."""
        try:
            import pandas
        except ImportError:
            raise _missing("pandas") from None
        return pandas.DataFrame(self._by_column(raw, margins))

    def pl(self, *, raw: bool = False, margins: bool = False) -> polars.DataFrame:
        """The rows as a Polars frame; `raw` and `margins` as for `df`."""
        try:
            import polars
        except ImportError:
            raise _missing("polars") from None
        return polars.DataFrame(self._by_column(raw, margins))

    def arrow(self, *, raw: bool = False, margins: bool = False) -> pyarrow.Table:
        """The rows as an Arrow table; `raw` and `margins` as for `df`."""
        try:
            import pyarrow
        except ImportError:
            raise _missing("pyarrow") from None
        columns = self._by_column(raw, margins)
        return pyarrow.table({name: _arrow(column) for name, column in columns.items()})

    def write_parquet(self, path: str, *, raw: bool = False, margins: bool = True) -> None:
        """Write the rows to a Parquet file, with the margins beside the values; what they cost and
        promise is in the file's metadata, as JSON under `probe_sql`."""
        table = self.arrow(raw=raw, margins=margins)
        import pyarrow.parquet

        told = {"privacy": self.privacy.as_dict(), "notices": list(self.notices)}
        about = {"probe_sql": in_json(told, str)}
        pyarrow.parquet.write_table(table.replace_schema_metadata(about), path)

    def _by_column(self, raw: bool, margins: bool) -> dict[str, list[Any]]:
        """Column lists; a name that occurs twice gets a number, since frames need one each.

        A margin in units is `n_margin`, one in rows `n_margin_rows`.
        """
        rows = self.raw if raw else self.rows
        named: list[tuple[str, list[Any]]] = []
        for index, name in enumerate(self.columns):
            named.append((name, [row[index] for row in rows]))
            for kind, table in (("margin", self.margins), ("margin_rows", self.ranks)):
                doubt = [row[index] for row in table]
                if margins and any(each is not None for each in doubt):
                    named.append((f"{name}_{kind}", doubt))
        if self.marks:
            named.append(("mark", list(self.marks)))
        result: dict[str, list[Any]] = {}
        for index, (name, column) in enumerate(named):
            result[name if name not in result else f"{name}_{index + 1}"] = column
        return result


def _arrow(column: list[Any]) -> pyarrow.Array:
    """Make an Arrow column of values; beyond 64 bits integers are decimals, or floats."""
    import pyarrow

    numbers = [v for v in column if isinstance(v, int | float) and not isinstance(v, bool)]
    whole = all(isinstance(v, int) for v in numbers)
    if whole and all(-(2**63) <= v < 2**63 for v in numbers):
        return pyarrow.array(column)
    if whole and all(abs(v) < 10**_DIGITS for v in numbers):
        return pyarrow.array(column, type=pyarrow.decimal128(_DIGITS, 0))
    return pyarrow.array([None if v is None else float(v) for v in column])


@dataclass(frozen=True, slots=True)
class Denied(Answer):
    """A query that could not be answered within its limits; `reason` says which.

    It has no rows, and everything that would look like an answer without any raises `error()`:
    frames, `len` and iteration. `status` and `rows` may be looked at.
    """

    reason: str = ""
    status: str = field(default="denied", init=False)

    def error(self) -> OperationalError:
        """The denial as an error, for callers that expect rows."""
        return OperationalError(
            f"the query was denied: {self.reason}",
            why=f"epsilon {price(self.privacy.epsilon)} was charged, "
            f"{price(self.privacy.remaining)} remains",
            fix="look at answer.status before rows are read",
        )

    def __len__(self) -> NoReturn:
        raise self.error()

    def __iter__(self) -> NoReturn:
        raise self.error()

    def _by_column(self, raw: bool, margins: bool) -> NoReturn:  # noqa: ARG002
        raise self.error()

    def plot(self, axes: Any = None) -> NoReturn:  # noqa: ARG002
        """Raise the denial: there is nothing to draw."""
        raise self.error()

    def as_dict(self) -> dict[str, Any]:
        """The object of an answer, with the reason."""
        # Not super(): slots make the zero-argument form refer to the class before they did.
        return {**Answer.as_dict(self), "reason": self.reason}


def _block_dict(name: str, block: Content) -> dict[str, Any]:
    assert isinstance(block, Answer)
    return {"name": name, **block.as_dict()}


def _missing(library: str) -> InterfaceError:
    return InterfaceError(
        f"{library} is not installed", fix=f"pip install {library}, or use answer.rows"
    )
