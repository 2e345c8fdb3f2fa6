"""The type that binding puts on a node is the one that the scan would work out for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlglot import exp

from probe_sql.plan.plan import make_plan
from probe_sql.plan.tally import Scan
from probe_sql.scan.expression_types import ExpressionTypes
from probe_sql.sql.functions import FUNCTIONS
from probe_sql.sql.scalar import TYPE
from probe_sql.types import SqlType
from tests.examples.hospital import policy

from .statements import WARD, called


def scan(condition: str) -> Scan:
    return make_plan(WARD.format(f"WHERE {condition}", "count(*) > 5"), policy()).scan


def facts(type_: SqlType) -> SqlType:
    """All but the name, of which a type may have several."""
    return replace(type_, name="")


def contradictions(found: Scan) -> Iterator[str]:
    """The bound nodes of a filter whose type is another by the scan's own rules."""
    types = ExpressionTypes(found)
    for condition in found.relation.where:
        for node in condition.ast.walk():
            said: SqlType | None = node.meta.get(TYPE)
            if said is not None and facts(said) != facts(types.worked_out(node)):
                yield f"{node.sql(dialect='duckdb')}: {said} or {types.worked_out(node)}"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_has_one_type(name: str) -> None:
    found = scan(f"{called(FUNCTIONS[name])} IS NULL")
    assert not list(contradictions(found))


@pytest.mark.parametrize("value", [
    "weight * 2", "weight + 0.25", "-weight", "weight / 3", "name || 'x'",
    "CASE WHEN weight > 1 THEN name END", "coalesce(weight, 0)", "CAST(weight AS VARCHAR)",
    "nullif(name, 'a')", "extract(hour FROM arrived)",
])  # fmt: skip
def test_an_operator_has_one_type(value: str) -> None:
    found = scan(f"{value} IS NULL")
    assert any(TYPE in node.meta for node in found.relation.where[0].ast.walk())
    assert not list(contradictions(found))


def test_what_binding_said_is_what_counts_and_copies_keep_it() -> None:
    found = scan("weight * 2 > 1")
    product = found.relation.where[0].ast.copy().find(exp.Mul)
    assert product is not None
    product.meta[TYPE] = replace(product.meta[TYPE], name="another")
    assert ExpressionTypes(found).of(product.copy()).name == "another"
    assert list(contradictions(found)) == []
    node = found.relation.where[0].ast.find(exp.Mul)
    assert node is not None
    node.meta[TYPE] = replace(node.meta[TYPE], scale=7)
    assert len(list(contradictions(found))) == 1
