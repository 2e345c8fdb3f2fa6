"""Several queries of the same groups as one: each WHERE becomes a FILTER of its aggregates.

`SELECT count(*) FROM t WHERE a` beside `SELECT avg(x) FROM t WHERE b` is `SELECT count(*) FILTER
(WHERE a), avg(x) FILTER (WHERE b) FROM t`. What they share of WHERE stays there.

Privacy: what comes out is a query of the dialect like any other, planned and charged as such.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from probe_sql.sql.aggregate import both
from probe_sql.sql.around import Around, Derivation, Fixed, OutputValue
from probe_sql.sql.bound import (
    AggregateExpression,
    BoundQuery,
    DoubtColumn,
    Operation,
    Output,
    Value,
)
from probe_sql.sql.outputs import MOST_VALUES
from probe_sql.sql.relation import Relation
from probe_sql.sql.scalar import Scalar


@dataclass(frozen=True, slots=True)
class Together:
    """One query for several, and which of its outputs are those of each."""

    query: BoundQuery
    outputs: tuple[tuple[int, ...], ...]


def together(queries: Sequence[BoundQuery], names: Sequence[str]) -> Together | None:
    """Make one query of several, which go by these names; None where one has no WHERE of its own,
    or there are too many values.

    What is `tied` to their rows is alike, and so are their groups: who calls has seen to that.
    """
    first = queries[0]
    common = set.intersection(*({one.identity for one in q.relation.where} for q in queries))
    outputs: list[Output] = []
    numbers: list[tuple[int, ...]] = []
    for query, name in zip(queries, names, strict=True):
        own = [one for one in query.relation.where if one.identity not in common]
        if not own:
            return None
        passes = reduce(both, own, None)
        first_of_it = len(outputs)
        outputs += [_moved(one, passes, name, first_of_it) for one in query.outputs]
        numbers.append(tuple(range(first_of_it, len(outputs))))
    if len(outputs) > MOST_VALUES:
        return None
    where = tuple(one for one in first.relation.where if one.identity in common)
    relation = Relation(first.relation.table, first.relation.joins, where)
    query = replace(first, relation=relation, outputs=tuple(outputs), shown=len(outputs))
    return Together(query, tuple(numbers))


def tied(relation: Relation) -> tuple[object, ...]:
    """What FROM reads, and how it is joined: bound columns, never the names that a query gives."""
    joins = tuple(
        (
            join.alias,
            join.table.name,
            join.outer,
            tuple((key, value.identity) for key, value in join.on),
            join.released,
        )
        for join in relation.joins
    )
    return (relation.table.name, *joins)


def _moved(output: Output, passes: Scalar | None, name: str, by: int) -> Output:
    """An output as one of the query for all, `by` places further on."""
    return replace(
        output,
        name=f"{name}.{output.name}",
        aggregate=output.aggregate and _filtered(output.aggregate, passes, name),
        derived=output.derived and _shifted(output.derived, by),
        doubt=output.doubt and _doubted(output.doubt, by),
    )


def _doubted(doubt: DoubtColumn, by: int) -> DoubtColumn:
    return doubt if doubt.of is None else replace(doubt, of=doubt.of + by)


def _filtered(value: AggregateExpression, passes: Scalar | None, name: str) -> AggregateExpression:
    """An aggregate over the rows that pass."""
    if isinstance(value, Value):
        return value
    if isinstance(value, Operation):
        left, right = (_filtered(side, passes, name) for side in (value.left, value.right))
        return replace(value, left=left, right=right)
    words = " AND ".join(filter(None, (f"in {name}", value.filter_text)))
    return replace(value, filter=both(passes, value.filter), filter_text=words)


def _shifted(tree: Derivation, by: int) -> Derivation:
    if isinstance(tree, OutputValue):
        return OutputValue(tree.output + by)
    if isinstance(tree, Fixed):
        return tree
    return Around(tree.function, tuple(_shifted(one, by) for one in tree.arguments), tree.digits)
