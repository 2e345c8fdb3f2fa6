"""What a query gives back: rows, margins, and what they cost and promise.

An answer is complete when it is made. Printing, converting or copying one reads nothing
and spends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from probe_sql.answer.html import as_html
from probe_sql.answer.table import as_text
from probe_sql.errors import InterfaceError, OperationalError
from probe_sql.measuring import Step

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Privacy:
    """What an answer cost, what it may have cost at most, and what it promises.

    `epsilon` is what the ledger charged: the ex-post loss, or the least price of a scan.
    `fnr`, `fpr` and `fdr` are the bounds the answer carries (None: no such bound). `sentence`
    says what they mean for this list, `guarantee` is the exact promise in full.
    """

    epsilon: float
    epsilon_max: float
    fnr: float | None
    fpr: float | None
    algorithm: str
    remaining: float
    guarantee: str
    unit: str = "row"
    min_entropy: float | None = None
    trace: tuple[Step, ...] = ()
    fdr: float | None = None
    sentence: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The figures, as `query --format json` prints them."""
        return {
            "epsilon": self.epsilon, "epsilon_max": self.epsilon_max, "fnr": self.fnr,
            "fpr": self.fpr, "fdr": self.fdr, "algorithm": self.algorithm,
            "remaining": self.remaining, "unit": self.unit, "min_entropy": self.min_entropy,
            "number": self._number(), "sentence": self.sentence, "guarantee": self.guarantee,
        }  # fmt: skip

    def _number(self) -> dict[str, Any] | None:
        """The one number that decided, the level at which the walk ended, and its balance S."""
        if not self.trace or self.trace[-1].balance is None:
            return None
        last = self.trace[-1]
        return {
            "name": last.atom, "level": last.phase, "epsilon": last.epsilon,
            "balance": last.balance,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """The groups that cross the line, with noisy values where the SELECT list asks for them.

    `margins[i][j]` is the half-width around `rows[i][j]` that holds with the query's
    `confidence`, None for keys and for values without one. `marks` says 'certain' or
    'possible' for each row where the algorithm tells them apart; frames have them as a last
    column, `mark`.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    margins: tuple[tuple[float | None, ...], ...]
    privacy: Privacy
    notices: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    confidence: float | None = None
    status: str = field(default="answered", init=False)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __str__(self) -> str:
        return as_text(self)

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
        if self.marks:
            result["marks"] = list(self.marks)
        if self.notices:
            result["notices"] = list(self.notices)
        return result

    def df(self) -> pandas.DataFrame:
        """The rows as a pandas frame."""
        try:
            import pandas
        except ImportError:
            raise _missing("pandas") from None
        return pandas.DataFrame(self._by_column())

    def pl(self) -> polars.DataFrame:
        """The rows as a Polars frame."""
        try:
            import polars
        except ImportError:
            raise _missing("polars") from None
        return polars.DataFrame(self._by_column())

    def arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table."""
        try:
            import pyarrow
        except ImportError:
            raise _missing("pyarrow") from None
        return pyarrow.table(self._by_column())

    def _by_column(self) -> dict[str, list[Any]]:
        """Column lists; a name that occurs twice gets a number, since frames need one each."""
        named = [
            (name, [row[place] for row in self.rows]) for place, name in enumerate(self.columns)
        ]
        if self.marks:
            named.append(("mark", list(self.marks)))
        result: dict[str, list[Any]] = {}
        for place, (name, column) in enumerate(named):
            result[name if name not in result else f"{name}_{place + 1}"] = column
        return result


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
            why=f"epsilon {self.privacy.epsilon:.6g} was charged, "
            f"{self.privacy.remaining:.6g} remains",
            fix="look at answer.status before rows are read",
        )

    def __len__(self) -> NoReturn:
        raise self.error()

    def __iter__(self) -> NoReturn:
        raise self.error()

    def _by_column(self) -> NoReturn:
        raise self.error()

    def as_dict(self) -> dict[str, Any]:
        """The object of an answer, with the reason."""
        # Not super(): slots make the zero-argument form refer to the class before they did.
        return {**Answer.as_dict(self), "reason": self.reason}


def _missing(library: str) -> InterfaceError:
    return InterfaceError(
        f"{library} is not installed", fix=f"pip install {library}, or use answer.rows"
    )
