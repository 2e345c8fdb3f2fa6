"""`check` looks at the database beside the policy: views that cast. Each statement is applied."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from probe_sql.owner import check
from tests.conftest import Run

CANARY = "Quibbleworth"
POLICY = """
budget.epsilon = 1.0
[tables.VISITS.columns]
age = { bounds = [0, 120] }
[tables.stays.columns]
days = { bounds = [0, 50] }
[tables.plain.columns]
age = {}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.duckdb"
    with duckdb.connect(str(path)) as db:
        db.execute(f"CREATE TABLE raw AS SELECT * FROM (VALUES ('41', 1), ('{CANARY}', 2)) v(a, b)")
        db.execute("CREATE VIEW visits AS SELECT a::INTEGER AS age, b FROM raw WHERE b < 9.5")
        db.execute("CREATE VIEW inner_view AS SELECT CAST(b AS TINYINT) AS days FROM raw")
        db.execute("CREATE VIEW stays AS SELECT days FROM inner_view GROUP BY ALL")
        db.execute(
            "CREATE VIEW plain AS SELECT TRY_CAST(a AS INTEGER) AS age, DATE '2020-01-01' AS d,"
            " CAST('7' AS INTEGER) AS seven FROM raw"
        )
        db.execute("CREATE VIEW unused AS SELECT CAST(a AS INTEGER) AS x FROM raw")
    (tmp_path / "clinic.toml").write_text(POLICY, encoding="utf-8")
    return path


def test_views_that_cast_are_told_with_the_view_that_does_not(source: Path) -> None:
    policy = source.with_suffix(".toml")
    found = check(policy, str(source))
    assert found.problems == ()
    assert [(one.path, one.what) for one in found.advice] == [
        ("tables.VISITS", "the view visits casts"),
        ("tables", "the view inner_view casts"),
    ]
    assert "its value counts as NULL" in found.advice[0].why
    assert CANARY not in str(found)
    with duckdb.connect(str(source)) as db:
        for one in found.advice:
            for statement in one.run:
                db.execute(statement)
        assert db.execute("SELECT age, b FROM visits ORDER BY b").fetchall() == [(41, 1), (None, 2)]
        assert db.execute("SELECT days FROM stays ORDER BY ALL").fetchall() == [(1,), (2,)]
    after = check(policy, str(source))
    assert (after.problems, after.advice) == ((), ())


def test_a_view_that_is_computed_whole_fails_for_everybody(source: Path, run: Run) -> None:
    with duckdb.connect(str(source)) as db:
        db.execute(
            "CREATE OR REPLACE VIEW stays AS SELECT b::INTEGER AS days FROM raw GROUP BY ALL"
        )
    policy = str(source.with_suffix(".toml"))
    ended = run("check", str(source), "--policy", policy)
    assert ended.code == 0
    assert "opening it fails for everybody" in ended.out
    assert (
        'run: CREATE OR REPLACE VIEW "main"."stays" AS SELECT TRY_CAST(b AS INTEGER)' in ended.out
    )
    said = json.loads(run("check", str(source), "--policy", policy, "--format", "json").out)
    assert any("TRY_CAST" in statement for one in said["advice"] for statement in one["run"])
