"""The SQL of a scan is what its golden file says, on every engine."""

from __future__ import annotations

import pytest
from sqlglot import exp

from probe_sql.plan.plan import make_plan
from probe_sql.scan.engine import DUCKDB
from probe_sql.scan.postgres.terms import PostgresTranslator
from probe_sql.scan.render import render_domain, render_key_sizes, render_keys
from probe_sql.scan.spark.engine import SparkTranslator
from probe_sql.scan.translate import PLAIN, Translator
from probe_sql.sql.expression import OPERATORS

from .statements import FOLDER, QUERIES, every_function, rules, written

REWRITTEN = (exp.If, exp.WidthBucket, exp.Pow)  # bound as a CASE


@pytest.mark.parametrize("name", QUERIES)
def test_a_scan_is_written_as_its_file_says(name: str) -> None:
    assert (FOLDER / f"{name}.sql").read_text(encoding="utf-8") == written(name)


@pytest.mark.parametrize("name", QUERIES)
def test_writing_a_scan_changes_none_of_its_expressions(name: str) -> None:
    """The statement is made into text without a copy, and what it is made of is used again."""
    scan = make_plan(QUERIES[name], rules(name), engine=DUCKDB).scan
    before = repr(scan)
    first = DUCKDB.statements(scan, pretty=True)
    keys = [render_domain(scan), render_keys(scan, "chosen"), *render_key_sizes(scan)]
    assert repr(scan) == before
    assert DUCKDB.statements(scan, pretty=True) == first
    assert [render_domain(scan), render_keys(scan, "chosen"), *render_key_sizes(scan)] == keys


def test_every_function_is_written_as_the_file_says() -> None:
    assert (FOLDER / "functions.sql").read_text(encoding="utf-8") == every_function()


@pytest.mark.parametrize("translator", [PostgresTranslator, SparkTranslator])
def test_every_operator_has_a_form_or_a_refusal(translator: type[Translator]) -> None:
    """Also those that binding makes of others."""
    nodes = [node for row in OPERATORS for node in row.nodes]
    for node in nodes:
        own = getattr(translator, f"on_{node.key}", None)
        assert own is not None or issubclass(node, PLAIN) or node in REWRITTEN, node


def test_every_file_belongs_to_a_query() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == {*QUERIES, "functions"}
