"""What stays in doubt of a condition: each comparison's zone, the tree of them, and the curve.

Privacy: it follows from public numbers alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from probe_sql.algorithms.protocol import FirstDraws
from probe_sql.logic import And, Constant, Formula, Leaf, Or
from probe_sql.plan.doubt import SHARES, Doubt, width_text
from probe_sql.plan.plan import Plan
from probe_sql.text import limit, number, plural

ROWS = 2_000  # of the group for which the zone of an average is told
OF_AN_AVERAGE = f"* in a group of {plural(ROWS, 'row')}"


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
    rows: int = ROWS


def zone_head(plan: Plan) -> str:
    """What stands above the zones."""
    return f"in doubt at ε {limit(plan.accuracy.epsilon)}"


def condition(plan: Plan, doubt: Doubt | None) -> tuple[tuple[str, str], ...]:
    """The condition as lines of a tree, each comparison with its zone."""
    rows: list[tuple[str, int | None]] = []
    _tree(plan.formula, "", "", rows)
    return tuple(
        (label, "")
        if atom is None
        else (f"{label}{plan.origins[atom].text}", _zone(plan, doubt, atom))
        for label, atom in rows
    )


def _tree(formula: Formula, label: str, indent: str, rows: list[tuple[str, int | None]]) -> None:
    if isinstance(formula, Leaf):
        rows.append((label, formula.atom))
        return
    if isinstance(formula, Constant):
        return
    rows.append((label + joining(formula), None))
    for index, part in enumerate(formula.parts):
        last = index == len(formula.parts) - 1
        _tree(part, indent + ("└─ " if last else "├─ "), indent + ("   " if last else "│  "), rows)


def joining(formula: And | Or) -> str:
    """The word for how the parts below it count together."""
    two = len(formula.parts) == 2
    return ("both" if two else "all of") if isinstance(formula, And) else "either"


def compared(plan: Plan, doubt: Doubt | None, atom: int) -> Comparison | None:
    """A comparison with its zone, which lies outside of the line, or inside where true groups may
    be missed."""
    if doubt is None or not doubt.zones:
        return None
    zone, origin = doubt.zones[atom], plan.origins[atom]
    width = zone.widths[-1] / (ROWS if zone.average else 1)
    if origin.line is None or origin.half_line is None:
        return Comparison(None, True, 0, width, zone.average)
    up = origin.half_line.up
    sign = 1 if up == doubt.missed else -1
    return Comparison(float(origin.line), up, sign, width, zone.average)


def _zone(plan: Plan, doubt: Doubt | None, atom: int) -> str:
    """The values of a comparison that stay in doubt where the decision costs all it may."""
    found = compared(plan, doubt, atom)
    if found is None:
        return ""
    return zone_text(found) + (" *" if found.average else "")


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


def curve_of(plan: Plan, doubt: Doubt, first: FirstDraws) -> list[tuple[str, str, float, bool]]:
    """The width of the first comparison's zone at some epsilons of the query, its own among them,
    and its share of the widest. Values take a part of that epsilon before the decision or beside
    it; all of the width goes with 1/epsilon of the decision."""
    aside, shared = plan.release_loss.epsilon, 2 if first.again else 1
    zone, most = doubt.zones[0], doubt.epsilons[-1]
    here = aside + shared * most
    epsilons = [share * max(1.0, here) for share in SHARES]
    nearest = min(range(len(epsilons)), key=lambda at: abs(math.log(epsilons[at] / here)))
    epsilons[nearest] = here
    told = [epsilon for epsilon in epsilons if epsilon > 1.001 * aside]
    unit = " rows" if zone.sql.lower().startswith("count(") else " *" if zone.average else ""
    of = ROWS if zone.average else 1
    widths = [zone.widths[-1] * most * shared / (epsilon - aside) for epsilon in told]
    return [
        (limit(float(f"{epsilon:.4g}")), shown, width / widths[0], epsilon == here)
        for epsilon, width in zip(told, widths, strict=True)
        for shown in [in_units(width_text(width / of, average=False), unit)]
    ]


def in_units(width: str, unit: str) -> str:
    """A width with its unit, one row in the singular."""
    return f"{width}{unit.removesuffix('s') if width == '1' else unit}"
