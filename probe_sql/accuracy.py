"""`Accuracy`: what the analyst asks of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Accuracy options of one query, as `options.updated` checked them.

    `u` is None where the algorithm's default holds.
    """

    fnr: float = 0.05
    fpr: float = 0.10
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
    fuse: bool = True
    ranges: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))

    def as_dict(self) -> dict[str, Any]:
        """Options by name, without those that are not set."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        values["ranges"] = dict(self.ranges)
        return {name: value for name, value in values.items() if value not in (None, {})}
