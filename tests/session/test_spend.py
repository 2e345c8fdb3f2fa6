"""`spend = 'all'` through the public API: what EXPLAIN says before is what is charged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from probe_sql.answer import Answer
from tests.examples.clinic import QUERY, build, seeded

BARE = QUERY.replace(", count(*) AS cases", "")


def test_no_group_is_left_by_conditions_on_keys(tmp_path: Path) -> None:
    nobody = "SELECT ward FROM patients GROUP BY ward HAVING count(*) > 5 AND ward = 'Z'"
    with seeded(build(tmp_path), 3) as db:
        answer = db.sql(nobody, spend="all")
        assert isinstance(answer, Answer)
        assert (answer.status, answer.rows) == ("answered", ())


@pytest.mark.parametrize(
    ("sql", "options", "half"),
    [(BARE, {}, False), (QUERY, {}, True), (QUERY, {"margin": 20}, False)],
    ids=["bare", "values", "margin"],
)
def test_the_whole_epsilon_is_spent_and_foretold(
    tmp_path: Path, sql: str, options: dict[str, Any], half: bool
) -> None:
    asked = {"spend": "all", "epsilon": 0.8, **options}
    with seeded(build(tmp_path), 3) as db:
        plan = db.explain(sql, **asked)
        assert "one draw with all that the decision may cost" in str(plan)
        assert plan.epsilon_worst == 0.8
        decision = (0.8 - plan.plan.release_loss.epsilon) / (2 if half else 1)
        assert plan.epsilon_first == pytest.approx(decision, rel=1e-6)
        answer = db.sql(sql, **asked)
        assert isinstance(answer, Answer)
        assert answer.status == "answered"
        assert answer.privacy.trace[-1].epsilon == pytest.approx(decision, rel=1e-6)
        assert answer.privacy.epsilon <= 0.8
        assert answer.privacy.epsilon == pytest.approx(0.8, rel=1e-6)
        assert "as estimated from the noisy values" in answer.privacy.sentence
        assert {row[0] for row in answer.rows} >= {"shingles"}
        assert set(answer.marks) <= {"certain", "possible"}
