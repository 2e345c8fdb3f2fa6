"""EXPLAIN in a few lines: price, bounds, and what stays in doubt; the rest is EXPLAIN VERBOSE.

Privacy: it says less than the whole explanation, which reads no private row.
"""

from __future__ import annotations

from dataclasses import dataclass

from probe_sql.accuracy import UNBOUNDED
from probe_sql.logic import And, Constant, Formula, Leaf, Or
from probe_sql.loss import Loss
from probe_sql.plan.doubt import Doubt, width_text
from probe_sql.plan.explain import Explanation, groups_text
from probe_sql.plan.explain_values import value_lines
from probe_sql.plan.plan import Plan
from probe_sql.text import limit, number, percent, plural, price, visible

MORE = "EXPLAIN VERBOSE: the arithmetic and the SQL"
_ROWS = 2_000  # of the group for which the zone of an average is told
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
class Comparison:
    """One comparison of HAVING against a line, and the side on which groups stay in doubt.

    `up`: values above the line satisfy it. The zone lies above the line where `sign` is 1, below
    where it is -1, and is `width` wide where the decision costs all it may. `line` is None where
    the comparison is with no constant, and `average` says that the width is that of a group of
    `rows` rows.
    """

    line: float | None
    up: bool
    sign: int
    width: float
    average: bool
    rows: int = _ROWS


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
            compared = _compared(plan, explanation.doubt, formula.atom)
            found.append(Node(depth, plan.origins[formula.atom].text, compared))
        elif not isinstance(formula, Constant):
            found.append(Node(depth, _joining(formula), is_word=True))
            for part in formula.parts:
                walk(part, depth + 1)

    walk(plan.formula, 0)
    return tuple(found)


def brief(explanation: Explanation, remaining: float | None = None) -> Brief:
    """The short form; `remaining` is what is left to who asks, where that is known."""
    plan = explanation.plan
    doubt = explanation.doubt
    notes = list(plan.notices)
    zone, tree, curve = "", [], []
    if not plan.decided_free and not plan.figures:
        rows: list[tuple[str, int | None]] = []
        _tree(plan.formula, "", "", rows)
        for label, atom in rows:
            if atom is None:
                tree.append((label, ""))
                continue
            said = "" if doubt is None else _zone(plan, doubt, atom)
            tree.append((f"{label}{plan.origins[atom].text}", said))
        if doubt is not None and doubt.zones:
            zone = f"in doubt at ε {limit(doubt.epsilons[-1])}"
            curve = _curve(doubt)
            if any(line[1].endswith("*") for line in tree):
                notes.insert(0, f"* in a group of {plural(_ROWS, 'row')}")
    return Brief(
        _price(explanation, remaining),
        _groups(explanation),
        _bounds(plan),
        tuple(tree),
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
    needed = explanation.first_loss + plan.release_loss
    if needed > Loss.asked(plan.accuracy.epsilon):
        larger = "margin" if plan.figures else plan.accuracy.primary
        return (
            f"This would be denied: it needs epsilon = {price(needed.epsilon)} or more, or a"
            f" larger {larger}."
        )
    whom = "" if plan.caps.column is None else f", for one {plan.caps.column}"
    fixed = explanation.first.whole or plan.accuracy.spend == "all"
    less = "" if fixed else " It may stop earlier, and then costs less."
    if explanation.dues is not None and remaining is not None:
        remaining = explanation.dues.left  # of the periods that this question pays
    text = f"{at_most(worst, remaining, whom)}{less}"
    return text if explanation.free is None else f"Free: {explanation.free}. Asked anew: {text}"


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


def _tree(formula: Formula, label: str, indent: str, rows: list[tuple[str, int | None]]) -> None:
    if isinstance(formula, Leaf):
        rows.append((label, formula.atom))
        return
    if isinstance(formula, Constant):
        return
    rows.append((label + _joining(formula), None))
    for index, part in enumerate(formula.parts):
        last = index == len(formula.parts) - 1
        _tree(part, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  "), rows)


def _joining(formula: And | Or) -> str:
    """The word for how the parts below it count together."""
    two = len(formula.parts) == 2
    return ("both" if two else "all of") if isinstance(formula, And) else "either"


def _compared(plan: Plan, doubt: Doubt | None, atom: int) -> Comparison | None:
    """A comparison with its zone, which lies outside of the line, or inside where true groups may
    be missed."""
    if doubt is None or not doubt.zones:
        return None
    zone, origin = doubt.zones[atom], plan.origins[atom]
    width = zone.widths[-1] / (_ROWS if zone.average else 1)
    if origin.line is None or origin.half_line is None:
        return Comparison(None, True, 0, width, zone.average)
    up = origin.half_line.up
    sign = 1 if up == doubt.missed else -1
    return Comparison(float(origin.line), up, sign, width, zone.average)


def _zone(plan: Plan, doubt: Doubt, atom: int) -> str:
    """The values of a comparison that stay in doubt where the decision costs all it may."""
    compared = _compared(plan, doubt, atom)
    if compared is None:
        return ""
    return zone_text(compared) + (" *" if compared.average else "")


def zone_text(compared: Comparison) -> str:
    """The zone of a comparison from its lower to its upper end."""
    width = compared.width
    if compared.line is None:
        return f"within {number(float(f'{width:.3g}'))}"
    ends = sorted((compared.line, compared.line + compared.sign * width))
    return f"{_near(ends[0], width)} to {_near(ends[1], width)}"


def _near(value: float, width: float) -> str:
    """A value as exact as the width of its zone is worth."""
    return number(round(value, 0 if width >= 10 else 1 if width >= 1 else 3))


def _curve(doubt: Doubt) -> list[tuple[str, str, float, bool]]:
    """The width of the first comparison's zone at each epsilon, and its share of the widest."""
    zone = doubt.zones[0]
    unit = " rows" if zone.sql.lower().startswith("count(") else ""
    return [
        (
            limit(epsilon),
            width_text(zone.widths[index], zone.average) + unit,
            zone.widths[index] / zone.widths[0],
            index == len(doubt.epsilons) - 1,
        )
        for index, epsilon in enumerate(doubt.epsilons)
    ]


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
