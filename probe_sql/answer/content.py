"""What an answer holds: rows, margins, marks, and what they cost and promise."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from probe_sql.loss import Loss
from probe_sql.measuring import Step

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """That an answer is given again: the date of its draw, and the owner's words for the data.

    `version` was in force then, `current` is now; either is None where the owner says nothing.
    `made`: it was not given so before, but follows from what was. `denied`: it is a denial.
    """

    on: str
    version: str | None = None
    current: str | None = None
    made: bool = False
    denied: bool = False

    @property
    def words(self) -> str:
        """Say of when and of which data the answer is."""
        given = "follows from what was answered on" if self.made else "answered on"
        given = "denied on" if self.denied else given
        if self.version is None and self.current is None:
            return f"{given} {self.on}; the data may have changed since"
        about = f"{given} {self.on}, about the data {self.version or 'before'}"
        return about if self.version == self.current else f"{about}, not {self.current}"

    @property
    def short(self) -> str:
        """Why it was free."""
        return f"it follows from answers of {self.on}" if self.made else f"a replay of {self.on}"

    @property
    def sentence(self) -> str:
        """What stands under the answer."""
        what = "This is free: it" if self.made else "This is a replay, free:"
        return f"{what} {self.words}. fresh = true asks anew, and pays."


@dataclass(frozen=True, slots=True)
class Privacy:
    """What an answer cost, what it may have cost at most, and what it promises.

    `loss` is what the ledger charged: the ex-post loss, or the least price of a scan.
    `fnr`, `fpr` and `fdr` are the bounds the answer carries (None: no such bound). `sentence`
    says what they mean for this list, `guarantee` is the exact promise in full. `replay` is set
    where the answer was given before, and cost nothing now.
    """

    loss: Loss
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
    replay: Replayed | None = None

    @property
    def epsilon(self) -> float:
        """The epsilon that the ledger charged."""
        return self.loss.epsilon

    def as_dict(self) -> dict[str, Any]:
        """The figures, as `query --format json` prints them."""
        return {
            "epsilon": self.epsilon,
            "epsilon_max": self.epsilon_max,
            "fnr": self.fnr,
            "fpr": self.fpr,
            "fdr": self.fdr,
            "algorithm": self.algorithm,
            "remaining": self.remaining,
            "unit": self.unit,
            "min_entropy": self.min_entropy,
            "number": self._number(),
            "sentence": self.sentence,
            "guarantee": self.guarantee,
            "replay": None if self.replay is None else asdict(self.replay),
        }

    def _number(self) -> dict[str, Any] | None:
        """The one number that decided, the level at which the walk ended, and its balance S."""
        if not self.trace or self.trace[-1].balance is None:
            return None
        last = self.trace[-1]
        return {
            "name": last.atom,
            "level": last.phase,
            "epsilon": last.epsilon,
            "balance": last.balance,
        }


@dataclass(frozen=True, slots=True)
class Line:
    """A threshold of HAVING on a shown column: its value, and the comparison as it was written."""

    column: int
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Content:
    """The groups that satisfy HAVING, with noisy values where the SELECT list asks for them.

    `margins[i][j]` is the half-width around `rows[i][j]` that holds with the query's
    `confidence`, None for keys and for values without one. `marks` says 'certain' or
    'possible' for each row where the algorithm tells them apart; frames have them as a last
    column, `mark`. `below` says for each row whether its shown values contradict the condition;
    it is empty where they are not of the condition. In `rows` a value lies where the exact one can
    (a count is never below 0), which moves it no further from that; `raw` has the values as
    measured, for arithmetic. Where SQL stands around private blocks, `blocks` has the answer of
    each by its name (none where only public tables are read), and `derived` names the columns that
    were computed from noisy values in a way that no margin follows; `types` are DuckDB's.
    `ranks[i][j]` is the margin of a quantile, in rows: so many too many
    may lie on one side of it; empty where no quantile is asked for. `lines` are the constants that
    HAVING compares shown columns with.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    margins: tuple[tuple[float | None, ...], ...]
    privacy: Privacy
    notices: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    confidence: float | None = None
    below: tuple[bool, ...] = ()
    raw: tuple[Row, ...] = ()
    derived: tuple[str, ...] = ()
    blocks: tuple[tuple[str, Content], ...] | None = None
    types: tuple[str, ...] = ()
    ranks: tuple[tuple[int | None, ...], ...] = ()
    lines: tuple[Line, ...] = ()
    status: str = field(default="answered", init=False)
