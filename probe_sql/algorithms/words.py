"""What an answer promises, in one English sentence for each algorithm."""

from __future__ import annotations

from probe_sql.accuracy import UNBOUNDED, Accuracy
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
_LISTED = (
    "on average over the noise at most {bound:g} of the groups listed do not satisfy it (if none"
    " does, about {bound:g} group is listed)"
)
_CERTAIN = (
    "with probability {bound:g} every group marked certain satisfies it",
    "with probability {bound:g} every group that is certain, listed or not, is so rightly",
)
_EACH = "a group that does not satisfy it is returned as certain with probability at most {bound:g}"
_ONE_MORE = ", these and one more taken together"
_OPEN = "groups marked possible are undecided"


def both(accuracy: Accuracy) -> Guarantee:
    """An a priori bound for each group, and one on the expected number of the other errors."""
    rates = []
    fpr = accuracy.fpr if accuracy.fpr < UNBOUNDED else None
    more = _ONE_MORE if accuracy.proof == "strict" else ""
    if fpr is not None:
        rates.append(_TRUE_RATE[accuracy.primary == "fpr"].format(bound=fpr) + more)
    if accuracy.fdr is not None:
        rates.append(_LISTED.format(bound=accuracy.fdr) + more)
    return _two(accuracy, "; ".join(rates), fpr, ", where a denial is no error", accuracy.fdr)


def marked(accuracy: Accuracy, doubt: float) -> Guarantee:
    """The a priori bound, and one for groups marked certain; nothing for those left open."""
    certain = _CERTAIN[accuracy.primary == "fpr"].format(bound=1 - doubt)
    return _two(accuracy, f"{certain}; {_OPEN}", None, "")


def each(accuracy: Accuracy) -> Guarantee:
    """Both bounds for each group, false ones as far as they are marked certain."""
    return _two(accuracy, f"{_EACH.format(bound=accuracy.fpr)}; {_OPEN}", accuracy.fpr, "")


def _two(
    accuracy: Accuracy, other: str, rate: float | None, after: str, fdr: float | None = None
) -> Guarantee:
    side = accuracy.primary == "fpr"
    first = _MISS[side].format(bound=accuracy.fnr)
    text = f"{first[0].upper()}{first[1:]}{after}; {other}."
    bounds = (accuracy.fnr, rate)
    fnr, fpr = reversed(bounds) if side else bounds
    return Guarantee(fnr, fpr, text, fdr)


def tolerant(beta: float, share: float) -> Guarantee:
    """Errors bounded only for groups far enough from every threshold."""
    return Guarantee(
        None,
        None,
        f"A group whose aggregates all lie further than {share:.3g} of their range from the"
        f" thresholds is misjudged with probability at most {beta:g}; for groups nearer than"
        " that neither missed nor false groups are bounded.",
    )
