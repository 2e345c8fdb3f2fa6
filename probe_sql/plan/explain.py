"""EXPLAIN: a plan in words, as a tree, and as JSON. Free of charge; reads no private row."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from probe_sql.accuracy import UNBOUNDED, Accuracy
from probe_sql.logic import And, Constant, Formula, Leaf, render
from probe_sql.plan.apportion import even_beta, paper_beta, tight_beta
from probe_sql.plan.person import PersonCosts, person_costs
from probe_sql.plan.plan import Atom, Plan, first_shares, first_u, tree_epsilon
from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, ListKeys
from probe_sql.sql.scan import Threshold


@dataclass(frozen=True, slots=True)
class FirstDraw:
    """What the first phase does for one atom: region, share of the bound, epsilon of a leaf."""

    u: int
    beta: float
    epsilon: float
    leaves: int


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan made presentable."""

    plan: Plan
    draws: tuple[FirstDraw, ...]
    epsilon_first: float
    epsilon_unminimised: float
    epsilon_worst: float
    scans: tuple[str, ...]
    guarantee: str
    people: PersonCosts | None = None

    def __str__(self) -> str:
        return as_text(self)

    def as_dict(self) -> dict[str, Any]:
        return as_dict(self)


def explain(plan: Plan) -> Explanation:
    """Work out what the first phase costs and what the answer would promise."""
    accuracy = plan.accuracy
    draws = _first_draws(plan)
    spent = [0.0] * len(plan.measures)
    for atom, draw in zip(plan.atoms, draws, strict=True):
        if accuracy.algorithm == "ladder":  # one measurement serves all atoms on it
            spent[atom.measure] = max(spent[atom.measure], draw.epsilon)
        else:
            spent[atom.measure] += draw.leaves * draw.epsilon
    if _as_one(plan):  # paid for once, like the dearest of the measures behind it
        dearest = max(range(len(spent)), key=lambda m: (m not in plan.caps.once, spent[m]))
        spent = [cost * (m == dearest) for m, cost in enumerate(spent)]
    first = plan.unit_epsilon(spent)
    people = None if plan.caps.column is None else person_costs(plan, spent)
    scans: tuple[str, ...] = ()
    if plan.verdict is None:
        scans = plan.engine.statements(plan.scan, accuracy.fuse, pretty=True)
    return Explanation(
        plan, draws, first, _unminimised(plan, people), _worst(plan, first), scans,
        guarantee_sentence(plan), people,
    )  # fmt: skip


def _first_draws(plan: Plan) -> tuple[FirstDraw, ...]:
    accuracy = plan.accuracy
    share, part = first_shares(accuracy)
    bound = prior_bound(accuracy) * part
    ladder = accuracy.algorithm == "ladder"
    single = accuracy.algorithm in ("naive", "apex") or ladder
    counts = [1 if single else plan.minimised.occurrences[i] for i in range(len(plan.atoms))]
    regions = [first_u(atom.range, share) for atom in plan.atoms]
    if _as_one(plan):
        rows = max(atom.range / atom.delta for atom in plan.atoms)
        epsilon = math.log(1 / (2 * bound)) / first_u(rows, share)
        return tuple(
            FirstDraw(first_u(rows * atom.delta, share), bound, epsilon, 1) for atom in plan.atoms
        )
    if ladder and plan.atoms:
        weights = [atom.delta / u for atom, u in zip(plan.atoms, regions, strict=True)]
        measures = [atom.measure for atom in plan.atoms]
        betas = tight_beta(plan.formula, bound, weights, measures, plan.minimised.primes)
    elif single or accuracy.algorithm == "probe-naive":
        betas = even_beta(bound, counts)
    else:
        weights = [atom.delta / u for atom, u in zip(plan.atoms, regions, strict=True)]
        betas = paper_beta(bound, weights, counts)
    return tuple(
        FirstDraw(u, beta, atom.delta * math.log(1 / (2 * beta)) / u, count)
        for atom, u, beta, count in zip(plan.atoms, regions, betas, counts, strict=True)
    )


def _as_one(plan: Plan) -> bool:
    """Whether the condition is measured as one number, apart from what is shown."""
    if plan.accuracy.algorithm != "ladder" or isinstance(plan.formula, Constant):
        return False
    return not (isinstance(plan.formula, Leaf) and plan.releases.free)


def prior_bound(accuracy: Accuracy) -> float:
    """The error bound that is met a priori: beta, or alpha in the mirrored problem."""
    return accuracy.fnr if accuracy.primary == "fnr" else min(accuracy.fpr, 0.499)


def _unminimised(plan: Plan, people: PersonCosts | None) -> float:
    """Cost of the first phase on the tree as written, by the same apportionment."""
    share, part = first_shares(plan.accuracy)
    weights = [delta / first_u(range_, share) for delta, range_ in plan.written]
    epsilon = tree_epsilon(plan.original, weights, prior_bound(plan.accuracy) * part)
    return epsilon if people is None else epsilon * people.rows


def _worst(plan: Plan, first: float) -> float:
    """The most the query can be charged: a draw that would pass epsilon is never made."""
    if plan.verdict is not None:
        return 0.0
    most = plan.accuracy.epsilon
    if plan.accuracy.algorithm in ("naive", "apex"):
        total = first + plan.release_epsilon
        return total if total <= most else 0.0
    return most


def guarantee_sentence(plan: Plan) -> str:
    """The promise of the answer in one English sentence."""
    a = plan.accuracy
    if plan.verdict is not None:
        which = "every group" if plan.verdict else "no group"
        often = "always" if plan.verdict else "never"
        return f"HAVING is {often} true, so the answer is {which}, exactly and at no cost."
    whose = "" if plan.caps.column is None else f" for one {plan.caps.column}"
    budget = f"the loss of the query is at most {a.epsilon:g}{whose}"
    miss = f"each group that satisfies HAVING is missed with probability at most {a.fnr:g}"
    bounds = []
    if a.fpr < UNBOUNDED:
        bounds.append(
            f"the expected number of false groups is at most {a.fpr:g} times the number of groups "
            "that do not satisfy it"
        )
    if a.fdr is not None:
        bounds.append(f"on average at most {a.fdr:g} of the groups listed do not satisfy it")
    false = ", and ".join(bounds)
    if a.algorithm == "apex":
        return (
            f"Outside a region of tolerance around each threshold, each group is decided wrongly "
            f"with probability at most {a.fnr:g}; inside it nothing is bounded; {budget}."
        )
    if a.algorithm == "naive":
        if a.primary == "fpr":
            return (
                "Each group that does not satisfy HAVING is returned with probability at most "
                f"{a.fpr:g}; missed groups are not bounded; {budget}."
            )
        return f"{miss[0].upper()}{miss[1:]}; false groups are not bounded; {budget}."
    return f"{miss[0].upper()}{miss[1:]}, and {false}, unless the query is denied; {budget}."


# --- JSON ------------------------------------------------------------------------------


def as_dict(explanation: Explanation) -> dict[str, Any]:
    """EXPLAIN as JSON-ready values."""
    plan, accuracy = explanation.plan, explanation.plan.accuracy
    names = [atom.name for atom in plan.atoms]
    minimised = plan.minimised
    return {
        "table": plan.query.relation.table.name,
        "unit": plan.caps.words,
        "caps": None if explanation.people is None else explanation.people.as_dict(),
        "keys": [{"name": k.name, "domain": keys_text(k.keys)} for k in plan.query.keys],
        "groups": plan.groups,
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
        "epsilon_first": explanation.epsilon_first,
        "epsilon_unminimised": explanation.epsilon_unminimised,
        "epsilon_release": plan.release_epsilon,
        "epsilon_worst": explanation.epsilon_worst,
        "accuracy": accuracy.as_dict(),
        "scan_sql": explanation.scans[0] if accuracy.fuse and explanation.scans
        else list(explanation.scans) or None,
        "guarantee": explanation.guarantee,
        "notices": list(plan.notices),
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
    groups = "" if plan.groups is None else f", {plan.groups:,} groups"
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
    lines += ["", f"promise     {explanation.guarantee}"]
    lines += [f"notice      {notice}" for notice in plan.notices]
    for scan in explanation.scans:
        lines += ["", "scan", *[f"  {line}" for line in scan.splitlines()]]
    return "\n".join(lines)


def _unit_text(plan: Plan) -> str:
    return "privacy unit: one row" if plan.caps.column is None else f"one {plan.caps.words}"


def _leaves_text(plan: Plan) -> str:
    before, after = plan.minimised.leaves_before, plan.minimised.leaves_after
    text = render(plan.formula, [atom.name for atom in plan.atoms])
    if plan.verdict is not None:
        return f"{text}: {'every group' if plan.verdict else 'no group'}, at no cost"
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
                f"{label}{atom.name} {atom.text}", normal_form(plan, atom), f"{atom.delta:,}",
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
    single = plan.accuracy.algorithm in ("naive", "apex")
    name = "first phase"
    if single or plan.accuracy.algorithm == "ladder":
        name = "the draws" if single else "first level"
    if _as_one(plan):
        name += " of the condition, measured as one number"
    first = f"{name}: epsilon {explanation.epsilon_first:.4g}"
    if plan.minimised.leaves_after < plan.minimised.leaves_before:
        first += f" ({explanation.epsilon_unminimised:.4g} unminimised)"
    lines = [f"cost        {first}"]
    if explanation.people is not None:
        lines += [f"            {line}" for line in explanation.people.lines()]
    if _as_one(plan) and plan.releases.free:
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
            "larger fnr"
        )
    lines.append(f"            at most epsilon {explanation.epsilon_worst:.4g} is charged")
    return lines
