"""EXPLAIN: a plan in words, as a tree, and as JSON. Free of charge; reads no private row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from probe_sql import algorithms
from probe_sql.accuracy import UNBOUNDED
from probe_sql.algorithms import guarantees
from probe_sql.algorithms.protocol import Algorithm, FirstDraw, FirstDraws
from probe_sql.logic import And, Constant, Formula, Leaf, render, simplified
from probe_sql.loss import Loss
from probe_sql.measuring import Task
from probe_sql.plan.doubt import Doubt, doubt
from probe_sql.plan.passes import Atom
from probe_sql.plan.person import PersonCosts, person_costs
from probe_sql.plan.plan import Plan
from probe_sql.plan.tally import Threshold
from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, ListKeys
from probe_sql.text import visible


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan made presentable. `draws` are the first ones, atom by atom."""

    plan: Plan
    first: FirstDraws
    draws: tuple[FirstDraw, ...]
    epsilon_first: float
    epsilon_unminimised: float
    epsilon_worst: float
    scans: tuple[str, ...]
    guarantee: str
    people: PersonCosts | None = None
    doubt: Doubt | None = None
    groups: int | None = None

    def __str__(self) -> str:
        return as_text(self)

    def as_dict(self) -> dict[str, Any]:
        return as_dict(self)


_NOTHING = FirstDraws("no draw", {}, ())


def explain(plan: Plan, groups: int | None = None) -> Explanation:
    """Ask the algorithm what it draws first and what its answer would promise.

    `groups` is their number as public tables tell it, where the policy alone does not.
    """
    groups = plan.groups if groups is None else groups
    if plan.verdict is not None:
        text, people = guarantees.certain(plan.verdict).text, _people(plan, _NOTHING)
        worst = _charged(plan, plan.release_epsilon) if plan.releases.extra else 0.0
        return Explanation(plan, _NOTHING, (), 0.0, 0.0, worst, (), text, people, groups=groups)
    accuracy = plan.accuracy
    algorithm = algorithms.get(accuracy.algorithm)
    outline = replace(plan.outline, groups=groups or 0)
    first = algorithm.first_draws(outline)
    epsilon = plan.unit_epsilon(_spent(plan, first))
    people = _people(plan, first)
    draws = tuple(first.atoms[number] for number in range(len(plan.atoms)))
    promise = algorithm.guarantee(accuracy, capped=people is not None)
    most = (accuracy.epsilon - plan.release_epsilon) / (2 if first.again else 1)
    return Explanation(
        plan, first, draws, epsilon,
        _unminimised(plan, outline, algorithm, people), _worst(plan, first, epsilon),
        () if plan.engine is None
        else plan.engine.statements(plan.scan, accuracy.fuse, pretty=True),
        promise.text, people,
        doubt(plan, draws, epsilon, most) if promise.kind else None, groups,
    )  # fmt: skip


def _spent(plan: Plan, first: FirstDraws) -> list[float]:
    """The epsilon of each measure in the first draws.

    A number made of several measures is met as often as the one of them that is met most, which
    is any that does not count people.
    """
    spent = [0.0] * len(plan.measures)
    for behind, epsilon in first.numbers:
        spent[min(behind, key=lambda measure: (measure in plan.caps.once, measure))] += epsilon
    return spent


def _people(plan: Plan, first: FirstDraws) -> PersonCosts | None:
    return None if plan.caps.column is None else person_costs(plan, _spent(plan, first))


def _unminimised(
    plan: Plan, outline: Task, algorithm: Algorithm, people: PersonCosts | None
) -> float:
    """What the first draws would cost on the tree as written."""
    written = replace(outline, atoms=plan.written, formula=simplified(plan.original))
    epsilon = algorithm.first_draws(written).epsilon
    return epsilon if people is None else epsilon * people.rows


def _worst(plan: Plan, first: FirstDraws, epsilon: float) -> float:
    """The most the query can be charged: a draw that would pass epsilon is never made."""
    most = plan.accuracy.epsilon
    if not first.whole:
        return max(most, plan.least)
    total = epsilon + plan.release_epsilon
    return _charged(plan, total) if total <= most else 0.0


def _charged(plan: Plan, epsilon: float) -> float:
    """What the ledger charges where this is drawn: rounded up, and at least a scan's price."""
    drawn = min(Loss.drawn(epsilon), Loss.asked(plan.accuracy.epsilon))
    return max(drawn, Loss.asked(plan.least)).epsilon


# --- JSON ------------------------------------------------------------------------------


def as_dict(explanation: Explanation) -> dict[str, Any]:
    """EXPLAIN as JSON-ready values."""
    plan, accuracy = explanation.plan, explanation.plan.accuracy
    names = [atom.name for atom in plan.atoms]
    minimised = plan.minimised
    return {
        "table": plan.query.relation.table.name,
        "unit": plan.caps.description,
        "caps": None if explanation.people is None else explanation.people.as_dict(),
        "keys": [{"name": k.name, "domain": keys_text(k.keys)} for k in plan.query.keys],
        "groups": explanation.groups,
        "atoms": [
            _atom_dict(plan, atom, draw)
            for atom, draw in zip(plan.atoms, explanation.draws, strict=True)
        ],
        "aggregates": [
            {"sql": a.text, "measures": [f"m{index}" for index in a.measures]}
            for a in plan.aggregates
        ],
        "measures": [
            {"name": f"m{i}", "sum": m.text, "delta": m.delta, "unit": str(m.unit)}
            for i, m in enumerate(plan.measures)
        ],
        "row_types": [[f"m{index}" for index in members] for members in plan.row_types],
        "formula": {
            "original": plan.query.having_text,
            "minimised": render(plan.formula, names),
            "leaves_before": minimised.leaves_before,
            "leaves_after": minimised.leaves_after,
            "method": minimised.method,
        },
        "number": _number_dict(explanation),
        "doubt": None if explanation.doubt is None else explanation.doubt.as_dict(),
        "epsilon_first": explanation.epsilon_first,
        "epsilon_unminimised": explanation.epsilon_unminimised,
        "epsilon_release": plan.release_epsilon,
        "epsilon_worst": explanation.epsilon_worst,
        "epsilon_least": plan.least,
        "epsilon_failure": plan.failure,
        "accuracy": accuracy.as_dict(),
        "scan_sql": explanation.scans[0] if accuracy.fuse and explanation.scans
        else list(explanation.scans) or None,
        "guarantee": explanation.guarantee,
        "notices": list(plan.notices),
    }  # fmt: skip


def _number_dict(explanation: Explanation) -> dict[str, Any] | None:
    """The one number that decides, its first level, and its balance, which only a walk tells."""
    first = explanation.first
    if first.number is None:
        return None
    return {
        "name": first.number, "level": 1, "epsilon": explanation.epsilon_first, "balance": None,
    }  # fmt: skip


def _atom_dict(plan: Plan, atom: Atom, draw: FirstDraw) -> dict[str, Any]:
    measure = plan.measures[atom.measure]
    return {
        "name": atom.name,
        "sql": atom.text,
        "measure": f"m{atom.measure}",
        "normal_form": normal_form(plan, atom),
        "sign": atom.sign,
        "threshold": atom.threshold if isinstance(atom.threshold, int) else "per group",
        "delta": atom.delta,
        "range": atom.range,
        "granularity": str(measure.unit),
        "u": draw.u,
        "beta": draw.beta,
        "epsilon": draw.epsilon,
        "leaves": draw.leaves,
    }


def normal_form(plan: Plan, atom: Atom) -> str:
    """`sign * measure > threshold`, written out."""
    body = plan.measures[atom.measure].text
    threshold = atom.threshold
    right = str(threshold) if isinstance(threshold, int) else _threshold_text(threshold)
    if atom.sign > 0:
        return f"{body} > {right}"
    return f"-({body}) > {right}" if " " in body else f"-{body} > {right}"


def _threshold_text(threshold: Threshold) -> str:
    parts = [scalar.ast.name for _, scalar in threshold.parts]
    return f"integer from {', '.join(parts)}"


# --- text ------------------------------------------------------------------------------


def keys_text(keys: KeySet) -> str:
    """A key domain in a few words."""
    if isinstance(keys, ListKeys):
        return f"{len(keys.values)} listed values"
    if isinstance(keys, IntegerKeys):
        step = "" if keys.step == 1 else f", every {keys.step}"
        return f"integers {keys.first} to {keys.last}{step}"
    if isinstance(keys, DateKeys):
        unit = keys.unit if keys.count == 1 else f"{keys.count} {keys.unit}s"
        return f"each {unit} from {keys.first} to {keys.last}"
    return f"public column {keys.table}.{keys.column}"


def as_text(explanation: Explanation) -> str:
    """EXPLAIN for a terminal: an aligned tree, the cost, the scan and the promise."""
    plan, a = explanation.plan, explanation.plan.accuracy
    keys = ", ".join(f"{key.name} ({keys_text(key.keys)})" for key in plan.query.keys)
    groups = "" if explanation.groups is None else f", {explanation.groups:,} groups"
    bounds = {"fnr": a.fnr, "fpr": a.fpr if a.fpr < UNBOUNDED else None, "fdr": a.fdr}
    asked = ", ".join(f"{name} {bound:g}" for name, bound in bounds.items() if bound is not None)
    options = f"{a.algorithm}, {asked}, epsilon at most {a.epsilon:g}"
    lines = [
        f"table       {plan.query.relation.table.name}, {_unit_text(plan)}",
        f"groups      by {keys}{groups}",
        f"accuracy    {options}",
        f"HAVING      {plan.query.having_text}",
        f"minimised   {_leaves_text(plan)}",
        "",
    ]
    if plan.verdict is None:
        lines += [*_tree_lines(explanation), "", *_cost_lines(explanation)]
    if explanation.doubt is not None:
        labels = ["doubt       ", *[" " * 12] * len(explanation.doubt.lines())]
        lines += ["", *map(str.__add__, labels, explanation.doubt.lines())]
    lines += ["", f"promise     {explanation.guarantee}"]
    lines += [f"notice      {notice}" for notice in plan.notices]
    for scan in explanation.scans:
        lines += ["", "scan", *[f"  {line}" for line in scan.split("\n")]]
    return "\n".join(map(visible, lines))


def _unit_text(plan: Plan) -> str:
    return "privacy unit: one row" if plan.caps.column is None else f"one {plan.caps.description}"


def _leaves_text(plan: Plan) -> str:
    before, after = plan.minimised.leaves_before, plan.minimised.leaves_after
    text = render(plan.formula, [atom.name for atom in plan.atoms])
    if plan.verdict is not None:
        return f"{text}: {'every group' if plan.verdict else 'no group'}, without a draw"
    leaves = f"{after} {'leaf' if after == 1 else 'leaves'}"
    return (
        f"{text}   ({leaves})" if before == after else f"{text}   ({leaves}, {before} as written)"
    )


def _tree_lines(explanation: Explanation) -> list[str]:
    """The formula as a tree, its atoms in aligned columns."""
    plan = explanation.plan
    rows: list[tuple[str, Atom | None]] = []
    _tree(plan.formula, "", "", plan, rows)
    head = ("", "normal form", "delta", "range", "u", "beta", "epsilon")
    table = [head]
    for label, atom in rows:
        if atom is None:
            table.append((label, "", "", "", "", "", ""))
            continue
        draw = explanation.draws[int(atom.name[1:]) - 1]
        table.append(
            (
                f"{label}{atom.name} {visible(atom.text)}", visible(normal_form(plan, atom)),
                f"{atom.delta:,}",
                f"{atom.range:,.0f}", f"{draw.u:,}", f"{draw.beta:.3g}", f"{draw.epsilon:.3g}",
            )
        )  # fmt: skip
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    lines = []
    for row in table:
        cells = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        cells += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        lines.append("  ".join(cells).rstrip())
    return lines


def _tree(
    formula: Formula, label: str, indent: str, plan: Plan, rows: list[tuple[str, Atom | None]]
) -> None:
    if isinstance(formula, Leaf):
        rows.append((label, plan.atoms[formula.atom]))
        return
    if isinstance(formula, Constant):
        return
    rows.append((label + ("AND" if isinstance(formula, And) else "OR"), None))
    for place, part in enumerate(formula.parts):
        last = place == len(formula.parts) - 1
        _tree(
            part, indent + ("`- " if last else "|- "), indent + ("   " if last else "|  "), plan,
            rows,
        )  # fmt: skip


def _cost_lines(explanation: Explanation) -> list[str]:
    plan = explanation.plan
    first = f"{explanation.first.title}: epsilon {explanation.epsilon_first:.4g}"
    if plan.minimised.leaves_after < plan.minimised.leaves_before:
        first += f" ({explanation.epsilon_unminimised:.4g} unminimised)"
    lines = [f"cost        {first}"]
    if explanation.people is not None:
        lines += [f"            {line}" for line in explanation.people.lines()]
    if explanation.first.again:
        lines.append(
            "            values of the SELECT list: as much again as the decision, which may"
            f" therefore use at most {plan.accuracy.epsilon / 2:.4g}"
        )
    if plan.release_epsilon:
        lines.append(f"            values of the SELECT list: epsilon {plan.release_epsilon:.4g}")
    if explanation.epsilon_first + plan.release_epsilon > plan.accuracy.epsilon:
        needed = explanation.epsilon_first + plan.release_epsilon
        lines.append(
            f"            this would be denied: it needs epsilon = {needed:.4g} or more, or a "
            f"larger {plan.accuracy.primary}"
        )
    whom = "" if plan.caps.column is None else f", for one {plan.caps.column}"
    lines.append(f"            at most epsilon {explanation.epsilon_worst:.4g} is charged{whom}")
    lines.append(
        f"            a scan costs at least {plan.least:.4g}, and {plan.failure:.4g} if it fails or"
        " is cancelled"
    )
    return lines
