"""Texts that are written by programs: planning them takes as much longer as they are longer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from probe_sql.answer import Answer
from probe_sql.session import Connection

from .again import ask

PLAIN = "SELECT ward, count(*) AS n FROM patients {} GROUP BY ward"


def where(joined: str, part: str) -> Callable[[int], str]:
    """A question with so many parts in WHERE."""
    return lambda n: PLAIN.format("WHERE " + joined.join(part.format(i=i) for i in range(n)))


def labels(n: int) -> str:
    """A question by a CASE with so many labels."""
    arms = " ".join(f"WHEN age = {i} THEN 'k{i}'" for i in range(n))
    return f"SELECT CASE {arms} ELSE 'other' END AS k, count(*) AS n FROM patients GROUP BY k"


FORMS: dict[str, Callable[[int], str]] = {
    "OR": where(" OR ", "age = {i}"),
    "AND": where(" AND ", "age <> {i}"),
    "OR of three": where(" OR ", "(age = {i} AND disease = 'x' AND cost > {i})"),
    "AND of OR": where(" AND ", "(age = {i} OR age > {i})"),
    "OR of keys": where(" OR ", "ward = 'W{i}'"),
    "AND of NOT": where(" AND ", "NOT age = {i}"),
    "CASE": labels,
}


THOUSAND = [
    form if form in ("OR", "AND") else pytest.param(form, marks=pytest.mark.slow) for form in FORMS
]


def calls(work: Callable[[], object]) -> int:
    """How many functions are called: unlike its time, the same on a machine that is busy."""
    seen = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal seen
        seen += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return seen


@pytest.mark.parametrize("form", FORMS)
def test_to_explain_twice_as_long_a_text_takes_about_twice_the_work(
    db: Connection, form: str
) -> None:
    text = FORMS[form]
    db.explain(text(3))
    once, twice = (calls(lambda n=n: db.explain(text(n))) for n in (30, 60))  # type: ignore[misc]
    assert twice < 2.4 * once


@pytest.mark.parametrize("form", THOUSAND)
def test_a_thousand_parts_are_answered(db: Connection, form: str) -> None:
    """What binding allows, no later step may find too deep: the scan's price would be due."""
    spent = db.budget.spent
    parts = 500 if form in ("OR of three", "AND of OR") else 1_000
    assert isinstance(ask(db, FORMS[form](parts), epsilon=0.01), Answer)
    assert db.budget.spent <= spent + 0.0101
    assert [entry.outcome for entry in db.ledger()] == ["answered"]
