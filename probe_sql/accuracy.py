"""`Accuracy`: what the analyst asks of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

from probe_sql.text import normal_name

PAPER_FPR = 0.10
UNBOUNDED = 1.0  # of fpr, where fdr alone was asked for
DEFAULT_FDR = 0.10


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Accuracy options of one query, as `options.updated` checked them; a silent query's as well.

    `u` is None where the algorithm's default holds. `margin` is a text where it is a share of the
    value, such as '5% or 20 rows'; `margins` are those of columns that have one of their own. False
    groups are bounded by `fpr`, by `fdr`, or by both: `fpr` is `UNBOUNDED` where fdr alone was
    asked for, `fdr` None where it was not.
    """

    fnr: float = 0.05
    fpr: float = UNBOUNDED
    fdr: float | None = DEFAULT_FDR
    epsilon: float = 1.0
    algorithm: str = "ladder"
    primary: str = "fnr"
    u: float | None = None
    split: float = 0.5
    steps: int = 4
    fine_steps: int = 3
    margin: float | str | None = None
    margins: Mapping[str, float | str] = field(default_factory=lambda: MappingProxyType({}))
    confidence: float = 0.95
    spend: str = "least"
    on_exhausted: str = "deny"
    fpr_scope: str = "rate"
    proof: str = "audited"
    fuse: bool = True
    fresh: bool = False
    ranges: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def prior_bound(self) -> float:
        """The bound that holds for each group before anything is drawn, on what `primary` says."""
        return self.fnr if self.primary == "fnr" else self.fpr

    @property
    def other_bound(self) -> float:
        """The bound on the other kind of error."""
        return self.fpr if self.primary == "fnr" else self.fnr

    def margin_of(self, column: str) -> float | str | None:
        """The margin of a column of the SELECT list: its own, or that of all."""
        return self.margins.get(normal_name(column), self.margin)

    def as_dict(self) -> dict[str, Any]:
        """Options by name, without those that are not set."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values |= {"ranges": dict(self.ranges), "margins": dict(self.margins)}
        values["fpr"] = self.fpr if self.fpr < UNBOUNDED else None
        return {name: value for name, value in values.items() if value not in (None, {})}
