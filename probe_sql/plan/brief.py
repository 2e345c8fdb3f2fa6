"""EXPLAIN in a few lines: price, bounds, and what stays in doubt; the rest is EXPLAIN VERBOSE.

Privacy: it says less than the whole explanation, which reads no private row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe_sql.accuracy import UNBOUNDED
from probe_sql.algorithms.record import dearer
from probe_sql.logic import Constant, Formula, Leaf
from probe_sql.loss import Loss
from probe_sql.plan.explain import Explanation, groups_text
from probe_sql.plan.explain_values import value_lines
from probe_sql.plan.plan import Plan
from probe_sql.plan.zones import (
    OF_AN_AVERAGE,
    Comparison,
    compared,
    condition,
    curve_of,
    joining,
    zone_head,
)
from probe_sql.text import limit, percent, price, visible

MORE = "EXPLAIN VERBOSE: the arithmetic and the SQL"
_BAR = 12


@dataclass(frozen=True, slots=True)
class Brief:
    """The parts of a short EXPLAIN: sentences, a tree of comparisons with zones, and the curve."""

    price: str
    groups: str
    bounds: str
    tree: tuple[tuple[str, str], ...] = ()
    zone: str = ""
    curve: tuple[tuple[str, str, float, bool], ...] = ()
    values: tuple[str, ...] = ()
    footnotes: tuple[str, ...] = ()
    periods: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """A line of the condition's tree: a word that joins those below it, or a comparison."""

    depth: int
    text: str
    comparison: Comparison | None = None
    is_word: bool = False


def nodes(explanation: Explanation) -> tuple[Node, ...]:
    """The condition as a tree, depth first; empty where there is none to decide."""
    plan = explanation.plan
    if plan.decided_free or plan.figures:
        return ()
    found: list[Node] = []

    def walk(formula: Formula, depth: int) -> None:
        if isinstance(formula, Leaf):
            text = plan.origins[formula.atom].text
            found.append(Node(depth, text, compared(plan, explanation.doubt, formula.atom)))
        elif not isinstance(formula, Constant):
            found.append(Node(depth, joining(formula), is_word=True))
            for part in formula.parts:
                walk(part, depth + 1)

    walk(plan.formula, 0)
    return tuple(found)


def brief(explanation: Explanation, remaining: float | None = None) -> Brief:
    """The short form; `remaining` is what is left to who asks, where that is known."""
    plan = explanation.plan
    doubt = explanation.doubt
    notes = list(plan.notices)
    zone, curve = "", []
    tree: tuple[tuple[str, str], ...] = ()
    if not plan.decided_free and not plan.figures:
        tree = condition(plan, doubt)
        if doubt is not None and doubt.zones:
            zone = zone_head(plan)
            curve = curve_of(plan, doubt, explanation.first)
            if any(line[1].endswith("*") for line in tree):
                notes.insert(0, OF_AN_AVERAGE)
    return Brief(
        _price(explanation, remaining),
        _groups(explanation),
        _bounds(plan),
        tree,
        zone,
        tuple(curve),
        tuple(value_lines(explanation.values)) if plan.figures else (),
        tuple(notes),
        "" if explanation.dues is None or plan.decided_free else explanation.dues.words,
    )


def brief_lines(
    explanation: Explanation, remaining: float | None = None, width: int = 80, epsilon: str = "ε"
) -> list[str]:
    """The short form for a terminal: the curve beside the tree where both have room."""
    short = brief(explanation, remaining)
    lines = [short.price, *([short.periods] if short.periods else [])]
    lines.append(" ".join(part for part in (short.groups, short.bounds) if part))
    tree = [("", short.zone), *short.tree] if short.tree else []
    left = max((len(label) for label, _ in tree), default=0)
    drawn = [f"{label:<{left}}  {zone}".rstrip() for label, zone in tree]
    bars = _bars(short)
    if drawn or bars:
        lines.append("")
    wide = max(map(len, drawn), default=0)
    if drawn and bars and wide + 4 + max(map(len, bars)) <= width:
        rows = max(len(drawn), len(bars))
        padded = [*drawn, *[""] * (rows - len(drawn))]
        beside = [*bars, *[""] * (rows - len(bars))]
        lines += [f"{a:<{wide}}    {b}".rstrip() for a, b in zip(padded, beside, strict=True)]
    else:
        lines += [*drawn, *([""] if drawn and bars else []), *bars]
    if short.values:
        lines += ["", *short.values]
    lines += [*short.footnotes, MORE]
    return [visible(line).replace("ε", epsilon) for line in lines]


def _price(explanation: Explanation, remaining: float | None) -> str:
    """What asking costs, and at which margins it would cost nothing."""
    text = _asked(explanation, remaining)
    return text if explanation.offer is None else f"{text} But {explanation.offer.words}."


def _asked(explanation: Explanation, remaining: float | None) -> str:
    plan, worst = explanation.plan, explanation.epsilon_worst
    if plan.decided_free:
        return "Costs nothing: public facts decide it."
    if explanation.sharper is not None and explanation.free is None:
        return f"Costs at most {explanation.sharper.words}."
    short = _short(explanation)
    if short is not None:
        larger = "margin" if plan.figures else plan.accuracy.primary
        return f"This would be denied: it needs epsilon = {short} or more, or a larger {larger}."
    whom = "" if plan.caps.column is None else f", for one {plan.caps.column}"
    fixed = explanation.first.whole or plan.accuracy.spend == "all"
    if explanation.dues is not None and None not in (remaining, explanation.dues.left):
        remaining = explanation.dues.left  # of the periods that this question pays
    fixed = fixed or (remaining is not None and worst > remaining)
    less = "" if fixed else " It may stop earlier, and then costs less."
    text = f"{at_most(worst, remaining, whom)}{less}"
    return text if explanation.free is None else f"Free: {explanation.free}. Asked anew: {text}"


def way_out(explanation: Explanation, remaining: float | None) -> str | None:
    """The epsilon that would do where this one is denied before a draw, or more than remains.

    None where this one does, and where none would.
    """
    plan, short = explanation.plan, _short(explanation)
    if short is not None:
        return short if remaining is None or float(short) <= remaining else None
    if remaining is None or explanation.epsilon_worst <= remaining:
        return None
    most = math.floor(1000 * remaining) / 1000
    needed = (explanation.first_loss + plan.release_loss).epsilon
    takes_all = needed > 0.999 * plan.accuracy.epsilon  # whatever that is
    return limit(most) if most and (takes_all or needed <= most) else None


def _short(explanation: Explanation) -> str | None:
    """What is needed at least, where the first draws and the values take more than it may cost."""
    needed = explanation.first_loss + explanation.plan.release_loss
    allowed = Loss.asked(explanation.plan.accuracy.epsilon)
    return dearer(needed.epsilon) if needed > allowed else None


def at_most(worst: float, remaining: float | None, whom: str = "") -> str:
    """What a query can cost, and that it is refused where no more than `remaining` is left."""
    if remaining is not None and worst > remaining:
        cost = f"it may cost ε {price(worst)}{whom}"
        return f"This would be refused: {cost}, and {price(remaining)} remains."
    left = "" if remaining is None else f" of your {price(remaining)}"
    return f"Costs at most ε {price(worst)}{left}{whom}."


def _groups(explanation: Explanation) -> str:
    text = groups_text(explanation)
    return f"{text[0].upper()}{text[1:]}."


def _bounds(plan: Plan) -> str:
    a = plan.accuracy
    if plan.decided_free or plan.figures:
        return ""
    told = [f"missed at most {percent(a.fnr)}"]
    if a.fdr is not None:
        over = ", denied runs counted" if a.on_exhausted == "deny" else ""
        told.append(f"wrong on average at most {percent(a.fdr)} of the list{over}")
    elif a.fpr < UNBOUNDED:
        told.append(f"of those outside at most {percent(a.fpr)} listed")
    text = ", ".join(told)
    return f"{text[0].upper()}{text[1:]}."


def _bars(short: Brief) -> list[str]:
    if not short.curve:
        return []
    first = max(len(epsilon) for epsilon, *_ in short.curve)
    second = max(len(rows) for _, rows, *_ in short.curve)
    return [
        f"{'→' if here else ' '} ε {epsilon:<{first}}  {rows:>{second}} "
        + "█" * max(1, round(_BAR * share))
        for epsilon, rows, share, here in short.curve
    ]
