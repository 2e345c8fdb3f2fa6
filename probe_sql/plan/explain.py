"""EXPLAIN: a plan in words, as a tree, and as JSON. Free of charge; reads no private row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from probe_sql.accuracy import UNBOUNDED
from probe_sql.algorithms.protocol import FirstDraw, FirstDraws
from probe_sql.algorithms.record import dearer
from probe_sql.grid import Grid, text_lines
from probe_sql.logic import And, Constant, Formula, Leaf, render
from probe_sql.loss import Loss
from probe_sql.plan.doubt import Doubt, doubt
from probe_sql.plan.explain_costs import Dues, Offer, Sharper, spent_on, unminimised, worst
from probe_sql.plan.explain_values import ValueCost, value_costs, value_lines
from probe_sql.plan.person import PersonCosts, person_costs
from probe_sql.plan.plan import Plan, sorted_by, way
from probe_sql.plan.plan_card import plan_card
from probe_sql.plan.zones import condition, curve_of, zone_head
from probe_sql.policy.keys import DateKeys, IntegerKeys, KeySet, ListKeys
from probe_sql.text import limit, plural, price, visible


@dataclass(frozen=True, slots=True)
class Explanation:
    """A plan made presentable. `draws` are the first ones, atom by atom.

    `first_loss` is of these, `written_loss` of those that HAVING as written would take,
    `worst_loss` the most that can be charged. `free` says of when an answer is that would be given
    again, `sharper` from which values it would go on, `offer` at which wider margins it would be
    free, `dues` which periods pay; the rest is about asking anew.
    """

    plan: Plan
    first: FirstDraws
    draws: tuple[FirstDraw, ...]
    first_loss: Loss
    written_loss: Loss
    worst_loss: Loss
    guarantee: str
    people: PersonCosts | None = None
    doubt: Doubt | None = None
    groups: int | None = None
    values: tuple[ValueCost, ...] = ()
    free: str | None = None
    sharper: Sharper | None = None
    offer: Offer | None = None
    dues: Dues | None = None

    @property
    def explanations(self) -> tuple[Explanation, ...]:
        """The one explanation that a query of one block has: this."""
        return (self,)

    @property
    def top(self) -> str | None:
        """How the first groups will be found, where only those are shown, and why so."""
        if sorted_by(self.plan.query, self.plan.figures) is None:
            return None
        return way(self.plan.caps, self.first.peel is not None)

    @property
    def scans(self) -> tuple[str, ...]:
        """The SQL of the scans, written when it is asked for: that takes as long as the plan."""
        plan = self.plan
        if plan.engine is None or plan.decided_free:
            return ()
        return plan.engine.statements(plan.scan, plan.accuracy.fuse, pretty=True)

    @property
    def epsilon_first(self) -> float:
        """Epsilon of the first draws."""
        return self.first_loss.epsilon

    @property
    def epsilon_unminimised(self) -> float:
        """Epsilon that the first draws would take on HAVING as written."""
        return self.written_loss.epsilon

    @property
    def epsilon_worst(self) -> float:
        """The most epsilon that the query can be charged."""
        return self.worst_loss.epsilon

    @property
    def verbose(self) -> bool:
        """Whether EXPLAIN VERBOSE asked for all of it."""
        return self.plan.query.verbose

    def __str__(self) -> str:
        return as_text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002
        """The text, where IPython would show the parts."""
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return plan_card(card_parts(self), self.guarantee, str(self).split("\n"))

    def as_dict(self) -> dict[str, Any]:
        return as_dict(self)

    def whole(self) -> dict[str, Any]:
        """All of it as JSON-ready values, from which a client makes it anew."""
        return {**self.as_dict(), "text": str(self), "card": card_parts(self)}


_NOTHING = FirstDraws("no draw", {}, ())


def explain(plan: Plan, groups: int | None = None, free: str | None = None) -> Explanation:
    """Ask the algorithm what it draws first and what its answer would promise.

    `groups` is their number as public tables tell it, where the policy alone does not; `free` says
    of when the answer is that would be given again, where there is one.
    """
    plan, groups = plan.among(groups), plan.groups if groups is None else groups
    if plan.decided_free:
        text, people = plan.certainty.text, _people(plan, _NOTHING)
        nothing = (Loss.NOTHING,) * 3
        return Explanation(plan, _NOTHING, (), *nothing, text, people, groups=groups)
    accuracy, algorithm, outline = plan.accuracy, plan.decider, plan.outline(groups)
    first = algorithm.first_draws(outline)
    most = (accuracy.epsilon - plan.release_loss.epsilon) / (2 if first.again else 1)
    if first.everything and most > 0:
        factor = most / plan.unit_loss(spent_on(plan, first)).epsilon
        outline = replace(outline, accuracy=replace(accuracy, epsilon=factor * accuracy.epsilon))
        first = algorithm.first_draws(outline)
    loss = plan.unit_loss(spent_on(plan, first), first.peel)
    people = _people(plan, first)
    draws = tuple(first.atoms[number] for number in range(len(plan.atoms)))
    promise = algorithm.guarantee(accuracy, capped=people is not None)
    each = promise.fpr if accuracy.primary == "fpr" else promise.fnr  # what the zone follows from
    return Explanation(
        plan,
        first,
        draws,
        loss,
        loss if plan.figures or first.everything else unminimised(plan, outline, algorithm, people),
        worst(plan, first, loss),
        promise.text,
        people,
        None if each is None else doubt(plan, draws, loss.epsilon, most),
        groups,
        value_costs(outline),
        free,
        dues=None if plan.paid.every is None else Dues(plan.paid),
    )


def _people(plan: Plan, first: FirstDraws) -> PersonCosts | None:
    if plan.caps.column is None:
        return None
    return person_costs(plan, spent_on(plan, first), first.peel)


# --- JSON ------------------------------------------------------------------------------


def as_dict(explanation: Explanation) -> dict[str, Any]:
    """EXPLAIN as JSON-ready values."""
    scans = explanation.scans
    plan, accuracy = explanation.plan, explanation.plan.accuracy
    names = [atom.name for atom in plan.atoms]
    minimised = plan.minimised
    return {
        "table": plan.query.relation.table.name,
        "unit": plan.caps.description,
        "caps": None if explanation.people is None else explanation.people.as_dict(),
        "keys": [{"name": k.name, "domain": keys_text(k.keys)} for k in plan.query.keys],
        "groups": explanation.groups,
        "atoms": [_atom_dict(plan, number, draw) for number, draw in enumerate(explanation.draws)],
        "aggregates": [
            {"sql": a.text, "measures": [f"m{index}" for index in a.measures]}
            for a in plan.aggregates
        ],
        "measures": [
            {"name": f"m{i}", "sum": m.text, "delta": m.delta, "unit": str(m.unit)}
            for i, m in enumerate(plan.measures)
        ]
        + [
            {"name": f"m{i}", "rank": plan.text_of(i), "delta": plan.deltas[i]}
            for i in range(len(plan.measures), len(plan.deltas))
        ],
        "row_types": [[f"m{index}" for index in members] for members in plan.row_types],
        "formula": {
            "original": plan.query.having_text,
            "minimised": render(plan.formula, names),
            "leaves_before": minimised.leaves_before,
            "leaves_after": minimised.leaves_after,
            "method": minimised.method,
        },
        "values": [value.as_dict() for value in explanation.values],
        "top": explanation.top,
        "number": _number_dict(explanation),
        "doubt": None if explanation.doubt is None else explanation.doubt.as_dict(),
        "free": explanation.free,
        "sharper": None if explanation.sharper is None else explanation.sharper.as_dict(),
        "offer": None if explanation.offer is None else explanation.offer.as_dict(),
        "periods": None if explanation.dues is None else explanation.dues.as_dict(),
        "epsilon_first": explanation.epsilon_first,
        "epsilon_unminimised": explanation.epsilon_unminimised,
        "epsilon_release": plan.release_loss.epsilon,
        "epsilon_worst": explanation.epsilon_worst,
        "epsilon_least": plan.least.epsilon,
        "epsilon_failure": plan.failure.epsilon,
        "accuracy": accuracy.as_dict(),
        "scan_sql": scans[0] if accuracy.fuse and scans else list(scans) or None,
        "guarantee": explanation.guarantee,
        "notices": list(plan.notices),
    }


def _number_dict(explanation: Explanation) -> dict[str, Any] | None:
    """The one number that decides, its first level, and its balance, which only a walk tells."""
    first = explanation.first
    if first.number is None:
        return None
    return {"name": first.number, "level": 1, "epsilon": explanation.epsilon_first, "balance": None}


def _atom_dict(plan: Plan, number: int, draw: FirstDraw) -> dict[str, Any]:
    atom = plan.atoms[number]
    measure = plan.measures[atom.measure]
    return {
        "name": atom.name,
        "sql": plan.origins[number].text,
        "measure": f"m{atom.measure}",
        "normal_form": normal_form(plan, number),
        "sign": atom.sign,
        "threshold": atom.threshold if isinstance(atom.threshold, int) else "per group",
        "delta": atom.delta,
        "range": atom.range,
        "granularity": str(measure.unit),
        "u": draw.region,
        "beta": draw.beta,
        "epsilon": draw.epsilon,
        "leaves": draw.leaves,
    }


def normal_form(plan: Plan, number: int) -> str:
    """An atom, `sign * measure > threshold`, written out."""
    atom, public = plan.atoms[number], plan.origins[number].threshold
    body = plan.measures[atom.measure].text
    right = str(atom.threshold)
    if public is not None:
        right = f"integer from {', '.join(scalar.ast.name for _, scalar in public.parts)}"
    if atom.sign > 0:
        return f"{body} > {right}"
    return f"-({body}) > {right}" if " " in body else f"-{body} > {right}"


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
    plan = explanation.plan
    unit = "privacy unit: one row" if plan.caps.column is None else f"one {plan.caps.description}"
    lines = [
        f"table       {plan.query.relation.table.name}, {unit}",
        f"groups      {groups_text(explanation)}",
        f"accuracy    {_options_text(plan)}",
    ]
    if explanation.free is not None:
        lines.append(f"free        {explanation.free}; asked anew it costs what follows")
    if explanation.sharper is not None:
        lines.append(f"sharper     {explanation.sharper.words}; asked anew it costs what follows")
    if explanation.offer is not None:
        lines.append(f"kept        {explanation.offer.words}")
    lines += [] if explanation.dues is None else explanation.dues.lines()
    if plan.query.having_text:
        lines += [
            f"HAVING      {plan.query.having_text}",
            f"minimised   {_leaves_text(plan)}",
        ]
    if not plan.decided_free:
        body = value_lines(explanation.values) if plan.figures else _tree_lines(explanation)
        lines += ["", *body, "", *_cost_lines(explanation)]
    if explanation.doubt is not None:
        labels = ["doubt       ", *[" " * 12] * len(explanation.doubt.lines())]
        lines += ["", *map(str.__add__, labels, explanation.doubt.lines())]
    lines += ["", f"promise     {explanation.guarantee}"]
    lines += [f"notice      {notice}" for notice in plan.notices]
    for scan in explanation.scans:
        lines += ["", "scan", *[f"  {line}" for line in scan.split("\n")]]
    return "\n".join(map(visible, lines))


def groups_text(explanation: Explanation) -> str:
    """What the groups are, where their keys come from, and how many there are."""
    keys = explanation.plan.query.keys
    if not keys:
        return "all rows, as one group"
    by = ", ".join(
        f"{key.name} ({', '.join(keys_text(one.keys) for one in key.columns)})" for key in keys
    )
    if explanation.plan.query.kept:
        by += f", where {explanation.plan.query.kept_text}"
    return f"by {by}" + ("" if explanation.groups is None else f", {explanation.groups:,} groups")


def _options_text(plan: Plan) -> str:
    a = plan.accuracy
    bounds: dict[str, Any] = {
        "fnr": a.fnr,
        "fpr": a.fpr if a.fpr < UNBOUNDED else None,
        "fdr": a.fdr,
    }
    if plan.figures:
        own = {f"margin of {name}": margin for name, margin in a.margins.items()}
        bounds = {"margin": a.margin, **own, "confidence": a.confidence}
    asked = [
        f"{name} {bound if isinstance(bound, str) else format(bound, 'g')}"
        for name, bound in bounds.items()
        if bound is not None
    ]
    return ", ".join([plan.algorithm, *asked, f"epsilon at most {a.epsilon:g}"])


def card_parts(explanation: Explanation) -> dict[str, Any]:
    """What the card of a plan shows before its promise and its text, as JSON-ready values."""
    plan, epsilon = explanation.plan, explanation.epsilon_worst
    title = f"Costs at most ε {price(epsilon)}"
    title = title if explanation.free is None else f"Free: {explanation.free}"
    title = title if explanation.sharper is None else f"At most {explanation.sharper.words}"
    title = "Costs nothing: public facts decide it" if plan.decided_free else title
    groups, doubted = groups_text(explanation), explanation.doubt
    return {
        "title": title,
        "about": f"{groups[0].upper()}{groups[1:]}.",
        "periods": None if explanation.dues is None else explanation.dues.words,
        "zones": None if doubted is None else zone_head(plan),
        "condition": [] if plan.decided_free or plan.figures else condition(plan, doubted),
        "curve": [] if doubted is None else curve_of(plan, doubted, explanation.first),
        "values": value_lines(explanation.values) if explanation.values else [],
    }


def _leaves_text(plan: Plan) -> str:
    before, after = plan.minimised.leaves_before, plan.minimised.leaves_after
    text = render(plan.formula, [atom.name for atom in plan.atoms])
    if plan.verdict is not None:
        return f"{text}: {'every group' if plan.verdict else 'no group'}, without a draw"
    told = [plural(after, "leaf", "leaves")]
    told += [f"{before} as written"] if before != after else []
    told += ["minimised by pyeda"] if plan.minimised.method == "pyeda" else []
    return f"{text}   ({', '.join(told)})"


def _tree_lines(explanation: Explanation) -> list[str]:
    """The formula as a tree, its atoms in aligned columns."""
    plan = explanation.plan
    rows: list[tuple[str, int | None]] = []
    _tree(plan.formula, "", "", plan, rows)
    head = ("", "normal form", "delta", "range", "u", "beta", "epsilon")
    table: list[tuple[str, ...]] = []
    for label, number in rows:
        if number is None:
            table.append((label, "", "", "", "", "", ""))
            continue
        atom, draw, text = plan.atoms[number], explanation.draws[number], plan.origins[number].text
        table.append(
            (
                f"{label}{atom.name} {text}",
                normal_form(plan, number),
                f"{atom.delta:,}",
                f"{atom.range:,.0f}",
                f"{draw.region:,}",
                f"{draw.beta:.3g}",
                f"{draw.epsilon:.3g}",
            )
        )
    return text_lines(Grid(head, table, table, frozenset(range(2, len(head)))), rule=False)


def _tree(
    formula: Formula, label: str, indent: str, plan: Plan, rows: list[tuple[str, int | None]]
) -> None:
    if isinstance(formula, Leaf):
        rows.append((label, formula.atom))
        return
    if isinstance(formula, Constant):
        return
    rows.append((label + ("AND" if isinstance(formula, And) else "OR"), None))
    for index, part in enumerate(formula.parts):
        last = index == len(formula.parts) - 1
        _tree(
            part,
            indent + ("`- " if last else "|- "),
            indent + ("   " if last else "|  "),
            plan,
            rows,
        )


def _cost_lines(explanation: Explanation) -> list[str]:
    plan = explanation.plan
    first = f"{explanation.first.title}: epsilon {explanation.epsilon_first:.4g}"
    if plan.minimised.leaves_after < plan.minimised.leaves_before:
        first += f" ({explanation.epsilon_unminimised:.4g} unminimised)"
    lines = [f"cost        {first}"]
    if explanation.top is not None:
        lines.append(f"            the first {plan.query.limit:,} are {explanation.top}")
    if explanation.people is not None:
        lines += [f"            {line}" for line in explanation.people.lines()]
    if explanation.first.again:
        lines.append(
            "            values of the SELECT list: as much again as the decision, which may"
            f" therefore use at most {limit(plan.accuracy.epsilon / 2)}"
        )
    release = plan.release_loss
    if release > Loss.NOTHING:
        most = "at most " if plan.releases.climbs else ""
        lines.append(
            f"            values of the SELECT list: {most}epsilon {limit(release.epsilon)}"
        )
    needed = explanation.first_loss + release
    if needed > Loss.asked(plan.accuracy.epsilon):
        larger = "margin" if plan.figures else plan.accuracy.primary
        lines.append(
            f"            this would be denied: it needs epsilon = {dearer(needed.epsilon)} or"
            f" more, or a larger {larger}"
        )
    whom = "" if plan.caps.column is None else f", for one {plan.caps.column}"
    lines.append(f"            at most epsilon {limit(explanation.epsilon_worst)} is charged{whom}")
    lines.append(
        f"            a scan costs at least {plan.least.epsilon:.4g}, and"
        f" {plan.failure.epsilon:.4g} if it fails or is cancelled"
    )
    return lines
