"""What an answer promises, in one English sentence for each algorithm."""

from __future__ import annotations

from probe_sql.accuracy import Accuracy
from probe_sql.algorithms.protocol import Guarantee

_MISS = (
    "each group that satisfies the condition is missed with probability at most {bound:g}",
    "each group that does not satisfy the condition is returned with probability at most {bound:g}",
)
_RATE = (
    "the false groups, estimated from the noisy values, are at most {bound:g} of the groups"
    " that do not satisfy it (an expected rate over all of them, not a bound for each group;"
    " groups within noise of a threshold may be undercounted)",
    "the missed groups, estimated from the noisy values, are at most {bound:g} of the groups"
    " that satisfy it (an expected rate over all of them, not a bound for each group; groups"
    " within noise of a threshold may be undercounted)",
)
_NO_RATE = ("the rate of false groups is not bounded", "the rate of missed groups is not bounded")


def one_sided(accuracy: Accuracy) -> Guarantee:
    """The a priori bound alone. `accuracy.fnr` is its size, `primary` says what it bounds."""
    return _guarantee(accuracy, None)


def two_sided(accuracy: Accuracy) -> Guarantee:
    """The a priori bound for each group, and the other rate as estimated."""
    return _guarantee(accuracy, accuracy.fpr)


def _guarantee(accuracy: Accuracy, rate: float | None) -> Guarantee:
    side = accuracy.primary == "fpr"
    first = _MISS[side].format(bound=accuracy.fnr)
    second = _NO_RATE[side] if rate is None else _RATE[side].format(bound=rate)
    text = f"{first[0].upper()}{first[1:]}, where a denial is no error; {second}."
    if rate is None:
        text = f"{first[0].upper()}{first[1:]}; {second}."
    bounds = (accuracy.fnr, rate)
    fnr, fpr = reversed(bounds) if side else bounds
    return Guarantee(fnr, fpr, text)


_TRUE_RATE = (
    "the false groups are in expectation at most {bound:g} of the groups that do not satisfy it",
    "the missed groups are in expectation at most {bound:g} of the groups that satisfy it",
)
_EACH = (
    "a group that does not satisfy it is returned as certain with probability at most {bound:g}",
    "a group that satisfies it is certainly left out with probability at most {bound:g}",
)


def both(accuracy: Accuracy) -> Guarantee:
    """An a priori bound for each group, and one on the expected rate of the other error.

    With fpr_scope = 'group', both for each group.
    """
    if accuracy.fpr_scope == "group":
        return marked(accuracy, accuracy.fpr)
    return _two(accuracy, _TRUE_RATE, accuracy.fpr, accuracy.fpr, ", where a denial is no error")


def marked(accuracy: Accuracy, wrongly: float) -> Guarantee:
    """The a priori bound, and one for groups marked certain; nothing for those left open."""
    whole = accuracy.fpr if accuracy.fpr_scope == "group" else None
    return _two(accuracy, _EACH, wrongly, whole, "", "; groups marked possible are undecided")


def _two(
    accuracy: Accuracy, other: tuple[str, str], bound: float, rate: float | None,
    after: str, end: str = "",
) -> Guarantee:  # fmt: skip
    side = accuracy.primary == "fpr"
    first = _MISS[side].format(bound=accuracy.fnr)
    text = f"{first[0].upper()}{first[1:]}{after}; {other[side].format(bound=bound)}{end}."
    bounds = (accuracy.fnr, rate)
    fnr, fpr = reversed(bounds) if side else bounds
    return Guarantee(fnr, fpr, text)


def tolerant(beta: float, share: float) -> Guarantee:
    """Errors bounded only for groups far enough from every threshold."""
    return Guarantee(
        None,
        None,
        f"A group whose aggregates all lie further than {share:.3g} of their range from the"
        f" thresholds is misjudged with probability at most {beta:g}; for groups nearer than"
        " that neither missed nor false groups are bounded.",
    )
