"""Make the answer that is told of what was decided: its rows, what they promise, what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from probe_sql.algorithms import guarantees
from probe_sql.algorithms.sentences import Listed, sentence
from probe_sql.answer.compose import compose, returned_groups
from probe_sql.answer.content import Line, Privacy, Replayed
from probe_sql.answer.values import Answer, Denied
from probe_sql.loss import Loss
from probe_sql.measuring import Ints, Outcome
from probe_sql.plan import identity
from probe_sql.plan.plan import Plan
from probe_sql.plan.tally import Scan
from probe_sql.sql.bound import (
    BoundQuery,
    Call,
    Comparison,
    Condition,
    Junction,
    Value,
)

Keys = Callable[[Scan, Ints], Mapping[int, Sequence[Any]]]


def answer_of(
    plan: Plan,
    outcome: Outcome,
    charged: Loss,
    left: float,
    keys: Keys,
    replayed: Replayed | None = None,
) -> Answer:
    """Make the answer of a plan; `left` is the epsilon that remains, `keys` are the source's.

    Privacy: an outcome is noisy values and decisions on them, and keys are public.
    """
    privacy = Privacy(
        charged,
        plan.accuracy.epsilon,
        outcome.guarantee.fnr,
        outcome.guarantee.fpr,
        plan.algorithm,
        left,
        outcome.guarantee.text,
        unit=plan.caps.description,
        min_entropy=outcome.details.get("min_entropy"),
        trace=outcome.trace,
        fdr=outcome.guarantee.fdr,
        sentence=_sentence(plan, outcome, replayed),
        replay=replayed,
    )
    columns = tuple(output.name for output in plan.query.listed)
    notices = plan.notices if replayed is None else (replayed.sentence, *plan.notices)
    if outcome.status == "denied":
        return Denied(columns, (), (), privacy, notices, reason=outcome.denial or "")
    chosen = returned_groups(outcome)
    body = compose(plan, chosen, keys(plan.scan, chosen), outcome)
    if plan.figures and body.rows and not body.bounded:
        valued = any(o.aggregate is not None or o.derived for o in plan.query.listed)
        said = guarantees.without_margins().text if valued else ""
        privacy = replace(privacy, guarantee=said or privacy.guarantee, sentence=said)
    shown = (plan.releases.columns or plan.figures) and body.bounded
    confidence = plan.accuracy.confidence if shown else None
    if body.top is not None:
        said = f"{body.top.sentence} {privacy.sentence}".strip()
        privacy = replace(privacy, sentence=said)
    return Answer(
        columns,
        body.rows,
        body.margins,
        privacy,
        notices,
        body.marks,
        confidence,
        body.below,
        body.raw,
        ranks=body.ranks,
        lines=find_lines(plan.query),
    )


def _sentence(plan: Plan, outcome: Outcome, replayed: Replayed | None) -> str:
    """What people read under the answer; nothing where there is none."""
    limited = plan.query.limit is not None or plan.query.offset > 0
    caps = None if plan.caps.column is None else plan.caps.description
    listed = Listed(outcome.returned.size, int(outcome.returned.sum()), limited, caps)
    said = sentence(outcome.guarantee, listed)
    part = replayed is not None and limited and not plan.figures
    return f"This promise is about the stored question, without LIMIT: {said}" if part else said


def find_lines(query: BoundQuery) -> tuple[Line, ...]:
    """The lines of each shown column, each once, in the order in which they are written.

    Privacy: a function of the query's text.
    """
    columns = {
        identity.aggregate(output.aggregate): index
        for index, output in enumerate(query.listed)
        if isinstance(output.aggregate, Call)
    }
    found: dict[tuple[int, float], Line] = {}
    for comparison in _comparisons(query.having):
        for call, other in (
            (comparison.left, comparison.right),
            (comparison.right, comparison.left),
        ):
            if not isinstance(call, Call) or not isinstance(other, Value):
                continue
            column, value = columns.get(identity.aggregate(call)), other.scalar.constant
            if column is not None and isinstance(value, Fraction):
                text = f"{comparison.left.text} {comparison.op} {comparison.right.text}"
                found.setdefault((column, float(value)), Line(column, float(value), text))
    return tuple(found.values())


def _comparisons(condition: Condition) -> Iterator[Comparison]:
    if isinstance(condition, Comparison):
        yield condition
    elif isinstance(condition, Junction):
        for part in condition.parts:
            yield from _comparisons(part)
