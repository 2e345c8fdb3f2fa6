"""One sentence under each answer: how much of what is listed may be wrong, for people to act on.

The promise in full is `Guarantee.text`. Numbers here come from the bounds that were asked for, the
number of groups, which is public, and how many are returned. Only where a level was fixed
in advance (`spend = 'all'`) is there an estimate, said with its doubt.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe_sql.measuring import Guarantee, Wrong
from probe_sql.text import plural

_FALSE = "groups that do not satisfy the condition"


@dataclass(frozen=True, slots=True)
class Listed:
    """What the sentence is about: `returned` of `groups` groups, perhaps `limited` after that.

    `caps` says which rows of one person count, None where all do.
    """

    groups: int
    returned: int
    limited: bool = False
    caps: str | None = None


def sentence(promise: Guarantee, listed: Listed) -> str:
    """What the promise means for this list, the worst news first.

    Privacy: a function of public numbers and of how many groups are returned.
    """
    if not promise.kind:
        return promise.text
    parts = [_warning(promise, listed), _wrong(promise, listed), _kept(promise, listed)]
    parts.append(_denials(promise, listed))
    if promise.doubt is not None and promise.kind != "certain" and listed.returned:
        parts.append(f"With probability {1 - promise.doubt:g} every group marked certain is right.")
    if listed.limited and listed.returned:
        parts.append(f"This is about all {plural(listed.returned, 'group')} returned before LIMIT.")
    if listed.caps is not None:
        parts.append(f"Only rows within the caps count ({listed.caps}).")
    return " ".join(part for part in parts if part)


def _warning(promise: Guarantee, listed: Listed) -> str:
    """Warn, before all else, where public numbers allow more false groups than true ones."""
    if promise.fpr is None or promise.fdr is not None or promise.kind == "certain each":
        return ""
    allowed = promise.fpr * listed.groups
    if not listed.returned or allowed <= listed.returned / 2:
        return ""
    return (
        f"More of the listed groups may be wrong than right: fpr = {promise.fpr:g} allows"
        f" {_about(allowed)} wrong ones of {plural(listed.groups, 'group')}, and"
        f" {listed.returned:,} {'is' if listed.returned == 1 else 'are'} listed."
    )


def _wrong(promise: Guarantee, listed: Listed) -> str:
    if not listed.returned:
        return "No group is listed."
    if promise.kind == "open":
        return "How many of the listed groups are wrong is not bounded."
    if promise.wrong is not None:
        return _estimated(promise.wrong, listed.returned)
    if promise.kind == "certain":
        bound = 1 - (promise.doubt or 0.0)
        return (
            f"With probability {bound:g} every group marked certain is right; those marked possible"
            " are undecided."
        )
    if promise.kind == "certain each":
        return (
            f"Each of the {_FALSE} is marked certain with probability at most"
            f" {odds(promise.fpr or 0.0)}; those marked possible are undecided."
        )
    more = promise.kind == "average and one"
    if promise.fdr is not None:
        share = promise.fdr * (listed.returned + more)
        extra = ", these and one more taken together" if more else ""
        return (
            f"On average over the noise at most {odds(promise.fdr)} listed groups is wrong{extra}:"
            f" here {_about(share)} of {listed.returned:,}."
        )
    fpr = promise.fpr or 0.0
    how = {
        "estimate": "Estimated from the noisy values, at most",
        "each": "On average over the noise at most",
        "average": "On average over the noise at most",
        "average and one": "On average over the noise at most",
    }[promise.kind]
    return (
        f"{how} {odds(fpr)} of the {_FALSE} is listed: {_about(fpr * (listed.groups + more))} of"
        f" {plural(listed.groups, 'group')} in all, and {listed.returned:,}"
        f" {'is' if listed.returned == 1 else 'are'} listed."
    )


def _estimated(wrong: Wrong, returned: int) -> str:
    """What a draw at a level fixed in advance tells of its own errors."""
    text = (
        f"Of the {plural(returned, 'group')} listed {_about(wrong.expected)}"
        f" {'is' if round(wrong.expected) <= 1 else 'are'} wrong, as estimated from the noisy"
        f" values (give or take {max(wrong.error, 0.1):.2g}, two standard errors)."
    )
    if wrong.bound < returned:
        sure = 1 - wrong.DOUBT
        text += f" With probability {sure:g} fewer than {math.ceil(wrong.bound):,} are."
    return text


def _kept(promise: Guarantee, listed: Listed) -> str:
    """Why groups below the line are listed."""
    if promise.fnr is None or promise.kind == "each":
        return ""
    bound = odds(promise.fnr)
    missed = f"a group that satisfies the condition is missed with probability at most {bound}"
    if not listed.returned:
        return f"{missed[0].upper()}{missed[1:]}."
    return f"Groups just below the line are kept so that true ones are not missed: {missed}."


def _denials(promise: Guarantee, listed: Listed) -> str:
    """What a denied run counts as, where a run may be denied for what it drew."""
    if not promise.denies:
        return ""
    if not listed.returned:
        return "That counts denied runs too, as missing none."
    if promise.kind == "each":
        return "That counts denied runs too, as listing none."
    listing = "as listing none" if promise.fdr is None else "with what more epsilon would list"
    return f"Both count denied runs too: {listing}, and as missing none."


def odds(share: float) -> str:
    """A bound as people say it: 1 in 10, or so many in 100."""
    whole = round(1 / share)
    if abs(whole * share - 1) < 1e-9:
        return f"1 in {whole:,}"
    return f"{100 * share:.4g} in 100"


def _about(count: float) -> str:
    return f"about {round(count):,}" if count >= 1 else "less than 1"
