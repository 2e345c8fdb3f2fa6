"""Blocks never share a charge; filters of one block that exclude each other do."""

from __future__ import annotations

from pathlib import Path

import pytest

from probe_sql import Answer
from probe_sql.plan.plan import make_plan
from probe_sql.session import explain_only
from tests.examples.clinic import build, seeded
from tests.examples.hospital import policy

pytestmark = pytest.mark.service  # processes are started

TWO = (
    "SELECT * FROM (SELECT count(*) AS a FROM patients WHERE {}) x, "
    "(SELECT count(*) AS b FROM patients WHERE {}) y WITH ACCURACY (epsilon = 0.4)"
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("charge"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("ward = 'A'", "ward = 'B'"),  # no row is in both
        ("ward = 'A'", "ward <> 'A'"),
        ("age < 30", "age >= 30"),
        ("ward = 'A'", "ward = 'A' AND age > 30"),
    ],
)
def test_blocks_of_rows_that_exclude_each_other_are_charged_one_by_one(
    database: Path, first: str, second: str
) -> None:
    with seeded(database, 3) as db:
        before = db.budget.spent
        said = db.explain(TWO.format(first, second)).epsilon_worst
        answer = db.sql(TWO.format(first, second), fresh=True)
        assert isinstance(answer, Answer)
        assert answer.privacy.epsilon == pytest.approx(0.4)
        assert said == pytest.approx(0.4)
        assert db.budget.spent - before == pytest.approx(0.4)
        assert answer.blocks is not None
        assert [one.privacy.epsilon for _, one in answer.blocks] == pytest.approx([0.2, 0.2])


def test_within_one_block_filters_that_exclude_each_other_share(database: Path) -> None:
    """The same question at the price of one of them: what docs/dialect.md says to write."""
    query = "SELECT count_if(age < 30), count_if(age >= 30) FROM patients"
    with seeded(database, 3) as db:
        both = db.explain(query, margin=20).epsilon_worst
        one = db.explain("SELECT count_if(age < 30) FROM patients", margin=20).epsilon_worst
    assert both == pytest.approx(one)


X = "SELECT count_if({}) AS a, count_if({}) AS b FROM stays s JOIN wards w ON w.ward = s.ward"
DERIVED = (
    "SELECT count_if({}) AS a, count_if({}) AS b FROM (SELECT ward AS x, hall AS y FROM "
    "(SELECT s.ward, s.site AS hall FROM stays s) i) o"
)


@pytest.mark.parametrize(
    ("shape", "first", "second", "rows"),
    [
        (X, "s.zone = 1", "s.zone = 2", 1),  # one column, two values: no row is in both
        (X, "w.hall = 'east'", "w.hall = 'west'", 1),
        (X, "s.site = 'east'", "w.hall = 'west'", 2),  # two columns of two tables
        (DERIVED, "x = 'A'", "x = 'B'", 1),
        (DERIVED, "x = 'A'", "y = 'B'", 2),
    ],
)
def test_exclusion_compares_bound_columns(shape: str, first: str, second: str, rows: int) -> None:
    plan = make_plan(shape.format(first, second), policy())
    assert plan.unit_loss([1.0] * len(plan.deltas)).epsilon == pytest.approx(rows)


def test_one_name_in_two_ctes_is_two_columns() -> None:
    """`x` of both is what each says, so the blocks are two, though their texts are one."""
    query = (
        "WITH a AS (SELECT zone AS x FROM stays), b AS (SELECT age AS x FROM stays) "
        "SELECT (SELECT count(*) FROM a WHERE x = 1) AS first, "
        "(SELECT count(*) FROM b WHERE x = 1) AS second WITH ACCURACY (epsilon = 0.4)"
    )
    outline = explain_only(query, policy())
    assert outline.epsilon_worst == pytest.approx(0.4)
    assert len(outline.blocks) == 2  # type: ignore[union-attr]
