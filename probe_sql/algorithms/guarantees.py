"""What an answer promises, in English: the one owner of these sentences.

EXPLAIN shows them before a query runs and the answer carries them afterwards.
"""

from __future__ import annotations

from dataclasses import replace

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.measuring import Guarantee, Wrong

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
_TRUE_RATE = (
    "the false groups are in expectation at most {bound:g} of the groups that do not satisfy it",
    "the missed groups are in expectation at most {bound:g} of the groups that satisfy it",
)
_LISTED = (
    "on average over the noise at most {bound:g} of the groups listed do not satisfy it (if none"
    " does, about {bound:g} group is listed)"
)
_DENIED_TOO = "; there a denied run counts with the groups that more epsilon would have listed"
_DENIED_NONE = " (a denied run lists none)"
_ONE_MORE = ", these and one more taken together"
_CERTAIN = (
    "with probability {bound:g} every group marked certain satisfies it",
    "with probability {bound:g} every group that is certain, listed or not, is so rightly",
)
_FEWEST = (
    "every group that does not satisfy it is returned with the least probability that any mechanism"
    " of this epsilon and this bound allows; how many those are is estimated, not bounded"
)
_EACH = "a group that does not satisfy it is returned as certain with probability at most {bound:g}"
_OPEN = "; groups marked possible are undecided"
_DENIAL = ", where a denial is no error"
_CAPPED = " All of this is about the rows that the caps on one person keep."


def one_sided(accuracy: Accuracy, capped: bool) -> Guarantee:
    """The a priori bound alone."""
    return _two(accuracy, _NO_RATE[accuracy.primary == "fpr"], None, capped, kind="open")


def two_sided(accuracy: Accuracy, capped: bool) -> Guarantee:
    """The a priori bound for each group, and the other rate as estimated."""
    other = _RATE[accuracy.primary == "fpr"].format(bound=accuracy.other_bound)
    found = _two(accuracy, other, accuracy.other_bound, capped, _DENIAL, kind="estimate")
    return replace(found, denies=True)


def both(accuracy: Accuracy, capped: bool, doubt: float | None = None) -> Guarantee:
    """An a priori bound for each group, and one on the expected number of the other errors.

    With fpr_scope = 'group', both for each group; else groups are marked but for `doubt`.
    """
    if accuracy.fpr_scope == "group":
        each = _EACH.format(bound=accuracy.other_bound) + _OPEN
        return _two(accuracy, each, accuracy.other_bound, capped, kind="certain each")
    more = _ONE_MORE if accuracy.proof == "strict" else ""
    fpr = accuracy.other_bound if accuracy.other_bound < UNBOUNDED else None
    denies = accuracy.on_exhausted == "deny"
    others = []
    if fpr is not None:
        none = _DENIED_NONE if denies and accuracy.primary == "fnr" else ""
        others.append(_TRUE_RATE[accuracy.primary == "fpr"].format(bound=fpr) + more + none)
    if accuracy.fdr is not None:
        ended = _DENIED_TOO if denies else ""
        others.append(_LISTED.format(bound=accuracy.fdr) + more + ended)
    if doubt is not None:
        others.append(_CERTAIN[accuracy.primary == "fpr"].format(bound=1 - doubt))
    kind = "average and one" if more else "average"
    after = _DENIAL if denies else ""
    found = _two(accuracy, "; ".join(others), fpr, capped, after, accuracy.fdr, kind, doubt)
    return replace(found, denies=denies)


def spent(accuracy: Accuracy, capped: bool, doubt: float, wrong: Wrong | None = None) -> Guarantee:
    """The a priori bound, and false groups as few as any mechanism of this epsilon can return."""
    others = f"{_FEWEST}; {_CERTAIN[0].format(bound=1 - doubt)}"
    found = _two(accuracy, others, None, capped, kind="spent", doubt=doubt)
    return replace(found, wrong=wrong)


def marked(accuracy: Accuracy, doubt: float, capped: bool) -> Guarantee:
    """The a priori bound, and one for groups marked certain; nothing for those left open."""
    certain = _CERTAIN[accuracy.primary == "fpr"].format(bound=1 - doubt)
    return _two(accuracy, certain + _OPEN, None, capped, kind="certain", doubt=doubt)


def or_else(first: Guarantee, other: Guarantee) -> Guarantee:
    """Join the promises of a run with two possible ends: bounds that both keep, and both texts."""
    return Guarantee(
        first.fnr if first.fnr == other.fnr else None,
        first.fpr if first.fpr == other.fpr else None,
        f"{first.text} Or, if the budget ends first: {other.text}",
        first.fdr if first.fdr == other.fdr else None,
        denies=first.denies or other.denies,
    )


def tolerant(beta: float, share: float, capped: bool) -> Guarantee:
    """Errors bounded only for groups far enough from every threshold."""
    return _capped(
        Guarantee(
            None,
            None,
            f"A group whose aggregates all lie further than {share:.3g} of their range from the"
            f" thresholds is misjudged with probability at most {beta:g}; for groups nearer than"
            " that neither missed nor false groups are bounded.",
        ),
        capped,
    )


def within(confidence: float, capped: bool) -> Guarantee:
    """Values with margins, each by itself."""
    text = (
        f"Each value lies within its margin of the exact one with probability at least"
        f" {confidence:g}, taken by itself; a value without one carries no such promise."
    )
    return _capped(Guarantee(None, None, text), capped)


def without_margins() -> Guarantee:
    """Values of which none came with a margin: ratios of parts that may be 0, products."""
    return Guarantee(None, None, "None of these values has a margin: nothing is promised of them.")


def listed() -> Guarantee:
    """Keys without a condition and without values: they are public."""
    text = "Group keys are public: every group is listed, whether it has rows or not, at no cost."
    return Guarantee(0.0, 0.0, text)


def nothing_shown() -> Guarantee:
    """LIMIT 0 asks for no group."""
    return Guarantee(0.0, 0.0, "LIMIT 0 shows no group, so no data are read: this is free.")


def of_no_rows() -> Guarantee:
    """WHERE is never true, as public facts tell: what counts and sums is 0, what divides NULL."""
    text = "WHERE is never true, so no row counts: this is exact, read from no data, and free."
    return Guarantee(0.0, 0.0, text)


def decided_without_data(verdict: bool) -> Guarantee:
    """HAVING holds for all groups or for none, whatever the data: no error, and no draw."""
    often, which = ("always", "every group") if verdict else ("never", "no group")
    text = f"HAVING is {often} true, so the answer is {which}, exactly; to decide it costs nothing."
    return Guarantee(0.0, 0.0, text)


def denied() -> Guarantee:
    """Nothing is returned, so nothing is promised."""
    return Guarantee(None, None, "Denied: no group is returned and nothing is claimed.")


def _two(
    accuracy: Accuracy,
    other: str,
    rate: float | None,
    capped: bool,
    after: str = "",
    fdr: float | None = None,
    kind: str = "",
    doubt: float | None = None,
) -> Guarantee:
    side = accuracy.primary == "fpr"
    first = _MISS[side].format(bound=accuracy.prior_bound)
    text = f"{first[0].upper()}{first[1:]}{after}; {other}."
    bounds = (accuracy.prior_bound, rate)
    fnr, fpr = reversed(bounds) if side else bounds
    if side:
        kind = "each"  # false groups are what is bounded a priori
    return _capped(Guarantee(fnr, fpr, text, fdr, kind, doubt), capped)


def _capped(guarantee: Guarantee, capped: bool) -> Guarantee:
    return replace(guarantee, text=guarantee.text + _CAPPED) if capped else guarantee
