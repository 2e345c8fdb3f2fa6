"""`ladder` in a whole query: one number for the condition, then the values that are shown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probe_sql.algorithms.ladder import WHOLE
from probe_sql.answer import Answer
from tests.examples.clinic import QUERY, build, seeded

BARE = QUERY.replace(", count(*) AS cases", "")
COUNTS = """
SELECT disease{values} FROM patients GROUP BY disease
HAVING count(*) > 800 OR count_if(age < 10) > 300 OR count_if(age > 70) > 600
"""
LADDER: dict[str, Any] = {"algorithm": "ladder", "epsilon": 3.0}


def _answer(path: Path, sql: str, seed: int, **options: Any) -> Answer:
    with seeded(path, seed) as db:
        spent = db.budget.spent
        answer = db.sql(sql, **LADDER, **options)
        assert isinstance(answer, Answer)
        assert db.budget.spent - spent == pytest.approx(answer.privacy.epsilon, abs=1e-9)
        return answer


def _new(folder: Path) -> Path:
    """A folder of its own, for a budget of its own."""
    name = folder / str(len(list(folder.iterdir())))
    name.mkdir()
    return name


def test_a_condition_costs_less_when_no_value_is_shown(tmp_path: Path) -> None:
    bare = _answer(build(_new(tmp_path)), COUNTS.format(values=""), 2)
    shown = _answer(build(_new(tmp_path)), COUNTS.format(values=", count(*)"), 2)
    for answer in (bare, shown):
        assert {row[0] for row in answer.rows} == {"flu", "polio", "shingles"}
    assert {step.atom for step in bare.privacy.trace} == {WHOLE}
    assert {step.atom for step in shown.privacy.trace} == {WHOLE}
    decided = shown.privacy.trace[-1].epsilon
    assert shown.privacy.epsilon == pytest.approx(2 * decided)
    assert bare.privacy.epsilon == pytest.approx(bare.privacy.trace[-1].epsilon)
    assert all(row[1] is not None for row in shown.rows)


def test_a_margin_holds_for_a_value_that_having_measures(tmp_path: Path) -> None:
    sql = COUNTS.format(values=", count(*)")
    answer = _answer(build(tmp_path), sql, 2, margin=25, confidence=0.95)
    assert all(margin is not None and margin <= 25 for _, margin in answer.margins)


def test_a_value_with_a_price_of_its_own_is_shown_beside_one_number(tmp_path: Path) -> None:
    sql = BARE.replace("SELECT disease", "SELECT disease, sum(cost) AS total")
    answer = _answer(build(tmp_path), sql, 3, margin=20000, confidence=0.95)
    assert {step.atom for step in answer.privacy.trace} == {WHOLE}
    assert all(row[1] is not None for row in answer.rows)


def test_the_bound_on_the_list_is_part_of_the_answer(tmp_path: Path) -> None:
    sql = COUNTS.format(values="") + " WITH ACCURACY (fdr = 0.2)"
    answer = _answer(build(tmp_path), sql, 4)
    assert (answer.privacy.fpr, answer.privacy.fdr) == (None, 0.2)
    assert answer.as_dict()["privacy"]["fdr"] == 0.2
    assert set(answer.marks) <= {"certain", "possible"}
    assert len(answer.marks) == len(answer.rows)
    assert answer.privacy.trace[-1].balance is not None
