"""The table of all accuracy options: how each is checked and what it means.

The same names serve the `WITH ACCURACY` clause, Python arguments, command-line flags
and `[defaults]` of the policy, in that order of precedence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from probe_sql.accuracy import DEFAULT_FDR, PAPER_FPR, UNBOUNDED, Accuracy
from probe_sql.algorithms import BEYOND, NAMES
from probe_sql.errors import AccuracyError
from probe_sql.text import normal_name, suggest


@dataclass(frozen=True, slots=True)
class Option:
    """One accuracy option: how it is checked and what it means, in a line.

    `inner` ones steer an algorithm from within; what they promise is the same with any value.
    """

    name: str
    kind: str  # 'number' | 'integer' | 'choice' | 'flag' | 'margin'
    meaning: str
    low: float = -math.inf  # exclusive
    high: float = math.inf  # exclusive unless `closed`
    closed: bool = False
    choices: tuple[str, ...] = ()
    inner: bool = False

    def check(self, value: Any) -> Any:
        """Return the value as the option's type, or raise `AccuracyError`."""
        if self.kind == "choice":
            if isinstance(value, str) and value.lower() in self.choices:
                return value.lower()
            near = suggest(value, self.choices) if isinstance(value, str) else None
            raise AccuracyError(
                f"{self.name} = {value!r} is not one of {', '.join(self.choices)}",
                instead=f"{self.name} = '{near or getattr(Accuracy(), self.name)}'",
            )
        if self.kind == "flag":
            if isinstance(value, bool):
                return value
            raise AccuracyError(
                f"{self.name} must be true or false", instead=f"{self.name} = false"
            )
        if self.kind == "margin" and isinstance(value, str):
            return _share(value)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise AccuracyError(f"{self.name} must be a number", instead=self._example())
        if self.kind == "integer" and not isinstance(value, int):
            raise AccuracyError(f"{self.name} must be a whole number", instead=self._example())
        try:
            number = value if self.kind == "integer" else float(value)
        except OverflowError:
            number = math.inf
        too_high = number > self.high if self.closed else number >= self.high
        if not math.isfinite(number) or number <= self.low or too_high:
            end = "]" if self.closed else ")"
            raise AccuracyError(
                f"{self.name} = {value} is out of range ({self.low:g}, {self.high:g}{end}",
                why=self.meaning,
                instead=self._example(),
            )
        return number

    def _example(self) -> str:
        return f"{self.name} = {_EXAMPLES[self.name]}"


_LEAST_EPSILON = 1e-18  # noise of any less does not fit into 64-bit integers
RANGE_LIMIT = 1e300  # of a hint for the range of an aggregate
_EXAMPLES = {
    "fnr": "0.05", "fpr": "0.1", "fdr": "0.1", "epsilon": "1.0", "u": "0.3", "split": "0.5",
    "steps": "4", "fine_steps": "3", "margin": "10", "confidence": "0.95",
}  # fmt: skip

OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        option.name: option
        for option in (
            Option("fnr", "number", "bound on the probability of missing a group", 0, 0.5),
            Option("fpr", "number", "bound on the rate of false groups, as in the paper", 0, 1),
            Option(
                "fdr",
                "number",
                "bound on the share of false groups among those listed",
                0,
                1,
            ),
            Option("epsilon", "number", "the most this query may spend", _LEAST_EPSILON, 1e6),
            Option("algorithm", "choice", "how the query is answered", choices=NAMES),
            Option("primary", "choice", "which error is bounded a priori", choices=("fnr", "fpr")),
            Option(
                "u",
                "number",
                "uncertain region at the start, as a share of the range",
                0,
                1,
                closed=True,
                inner=True,
            ),
            Option("split", "number", "share of fnr for the first of two phases", 0, 1, inner=True),
            Option("steps", "integer", "most steps m for an atom", 0, 64, closed=True, inner=True),
            Option(
                "fine_steps",
                "integer",
                "fine steps m_f for each step",
                0,
                64,
                closed=True,
                inner=True,
            ),
            Option(
                "margin", "margin", "half-width of shown values: a number, or a share as text", 0
            ),
            Option("confidence", "number", "probability that the margin holds", 1e-15, 1),
            Option(
                "spend",
                "choice",
                "the least that suffices, or all of epsilon",
                choices=("least", "all"),
            ),
            Option(
                "on_exhausted",
                "choice",
                "at the end of the budget: deny, or mark what is open",
                choices=("deny", "mark"),
            ),
            Option(
                "fpr_scope",
                "choice",
                "what fpr bounds: the rate over all, or each group",
                choices=("rate", "group"),
            ),
            Option(
                "proof",
                "choice",
                "how fpr and fdr are proved: up to a normal tail, or fully",
                choices=("audited", "strict"),
            ),
            Option(
                "fuse", "flag", "one scan for all atoms (true) or one for each (false)", inner=True
            ),
            Option("fresh", "flag", "ask anew and pay, though the answer is kept"),
        )
    }
)


def _margins(value: Any) -> dict[str, Any]:
    """One margin for all columns, or one for each that is named; the others keep theirs."""
    if not isinstance(value, Mapping):
        return {"margin": OPTIONS["margin"].check(value), "margins": MappingProxyType({})}
    if not value or not all(isinstance(name, str) for name in value):
        raise AccuracyError(
            "margins by column map names of the SELECT list to margins",
            fix="margin = (n = 50, total = '5%'), or in Python margin = {'n': 50, 'total': '5%'}",
        )
    named = {normal_name(name): OPTIONS["margin"].check(margin) for name, margin in value.items()}
    return {"margins": MappingProxyType(named)}


def _share(text: str) -> str:
    """A relative margin in its full form."""
    from probe_sql.algorithms.relative import Share  # the names alone must not load numpy

    share = Share.parse(text)
    if share is None:
        raise AccuracyError(
            f"margin = {text!r} is neither a number nor a share",
            why="a share is from 0.01% to below 100%, with the least margin in rows if you like",
            fix=f"margin = 10, margin = '5%', or margin = '{Share(0.05)}'",
        )
    return str(share)


def updated(accuracy: Accuracy, options: Mapping[str, Any]) -> Accuracy:
    """`accuracy` with `options` checked and applied; unknown names are errors.

    The options of one call are one level (a clause, arguments, a policy): a bound on false
    groups replaces the one of the other kind from further away, unless both are named.
    `spend = 'all'` replaces both: it bounds neither. Naming what knows no `fdr` (an algorithm of
    the paper, a bound for each group) without either replaces it by the `fpr` of further away or
    the paper's.
    """
    checked: dict[str, Any] = {}
    for name, value in options.items():
        if name == "ranges":
            checked[name] = check_ranges(value)
        elif name == "margin":
            checked |= _margins(value)
        elif name in OPTIONS:
            checked[name] = OPTIONS[name].check(value)
        else:
            raise AccuracyError(
                f"there is no accuracy option named {name!r}",
                fix=f"use one of {', '.join(OPTIONS)}",
            )
    if "fpr" in checked or "fdr" in checked:
        checked = {"fpr": UNBOUNDED, "fdr": None, **checked}
    elif checked.get("spend") == "all":
        checked |= {"fpr": UNBOUNDED, "fdr": None}
    elif checked.get("spend") == "least" and accuracy.spend == "all":
        checked["fdr"] = DEFAULT_FDR
    elif accuracy.fdr is not None and _without_fdr(checked):
        known = accuracy.fpr if accuracy.fpr < UNBOUNDED else PAPER_FPR
        checked |= {"fpr": known, "fdr": None}
    return replace(accuracy, **checked)


def _without_fdr(named: Mapping[str, Any]) -> bool:
    """Whether options of one level name something that cannot go with fdr."""
    return (
        named.get("algorithm", BEYOND[0]) not in BEYOND
        or named.get("primary") == "fpr"
        or named.get("fpr_scope") == "group"
    )


def agreed(accuracy: Accuracy) -> Accuracy:
    """Raise `AccuracyError` where two of these options exclude each other, else give them back."""
    name = accuracy.algorithm
    if accuracy.spend == "all":
        _agreed_to_spend(accuracy)
    if accuracy.proof == "strict" and name not in BEYOND:
        raise AccuracyError(
            f"algorithm = '{name}' has no strict proof",
            why="it returns what an estimate of false groups allows",
            fix=f"algorithm = '{BEYOND[0]}', or leave proof out",
        )
    if accuracy.fdr is None:
        return accuracy
    if name not in BEYOND:
        raise AccuracyError(
            f"algorithm = '{name}' cannot bound fdr",
            why="it estimates false groups as a share of all groups, not of those listed",
            fix=f"algorithm = '{BEYOND[0]}', or fpr = {PAPER_FPR:g} instead of fdr",
        )
    for option, value in (("primary", accuracy.primary), ("fpr_scope", accuracy.fpr_scope)):
        if value in ("fpr", "group"):
            raise AccuracyError(
                f"fdr and {option} = '{value}' exclude each other",
                why=f"{option} = '{value}' bounds false groups one by one",
                fix=f"leave one of the two out, or fpr = {PAPER_FPR:g} with {option} = '{value}'",
            )
    return accuracy


def _agreed_to_spend(accuracy: Accuracy) -> None:
    """Refuse what `spend = 'all'` cannot keep beside the bound on missed groups."""
    if accuracy.algorithm not in BEYOND:
        raise AccuracyError(
            f"algorithm = '{accuracy.algorithm}' cannot spend all that it may",
            why="it stops where its bounds are met",
            fix=f"algorithm = '{BEYOND[0]}', or leave spend out",
        )
    named = {
        "fdr": accuracy.fdr is not None,
        "fpr": accuracy.fpr < UNBOUNDED,
        "primary = 'fpr'": accuracy.primary == "fpr",
        "fpr_scope = 'group'": accuracy.fpr_scope == "group",
    }
    for option in (name for name, given in named.items() if given):
        raise AccuracyError(
            f"{option} and spend = 'all' exclude each other",
            why="with a fixed epsilon false groups are as few as can be, not within a bound",
            fix=f"leave {option} out, or say spend = 'least'",
        )


def check_ranges(value: Any) -> Mapping[str, float]:
    """Range hints by aggregate text, each a positive number (they steer utility only)."""
    if not isinstance(value, Mapping):
        raise AccuracyError(
            "ranges must map aggregates to numbers", fix='ranges = {"count(*)": 1000}'
        )
    for name, number in value.items():
        good = isinstance(number, int | float) and not isinstance(number, bool)
        if not isinstance(name, str) or not good or not 0 < number <= RANGE_LIMIT:
            raise AccuracyError(
                "each range is an aggregate's text and a positive number",
                fix='ranges = {"count(*)": 1000}',
            )
    return MappingProxyType({name: float(number) for name, number in value.items()})
