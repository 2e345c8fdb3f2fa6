"""`Accuracy`: what the analyst asks of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any

PAPER_FPR = 0.10
UNBOUNDED = 1.0  # of fpr, where fdr alone was asked for


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Accuracy options of one query, as `options.updated` checked them.

    `u` is None where the algorithm's default holds. False groups are bounded by `fpr`, by `fdr`, or
    by both: `fpr` is `UNBOUNDED` where fdr alone was asked for, `fdr` None where it was not.
    """

    fnr: float = 0.05
    fpr: float = PAPER_FPR
    fdr: float | None = None
    epsilon: float = 1.0
    algorithm: str = "probe"
    primary: str = "fnr"
    u: float | None = None
    split: float = 0.5
    steps: int = 4
    fine_steps: int = 3
    margin: float | None = None
    confidence: float = 0.95
    on_exhausted: str = "deny"
    fpr_scope: str = "rate"
    proof: str = "audited"
    fuse: bool = True
    ranges: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def as_dict(self) -> dict[str, Any]:
        """Options by name, without those that are not set."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["ranges"] = dict(self.ranges)
        values["fpr"] = self.fpr if self.fpr < UNBOUNDED else None
        return {name: value for name, value in values.items() if value not in (None, {})}
