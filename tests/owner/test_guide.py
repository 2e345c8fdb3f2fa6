"""What the guide for owners shows of `check` is what it prints, of a policy with every mistake."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from probe_sql.owner import check
from tests.conftest import Run
from tests.owner.test_judge import applied

GUIDE = Path(__file__).parents[2] / "docs" / "owners.md"
POLICY = """\
[budget]
epsilon = 2000
per_query = 4
[tables.stays]
unit = "row"
[tables.stays.columns]
ward = { keys = ["1", "2"] }
age = { bounds = [0, 1000] }

[tables.v]
unit = { column = "patient_id", max_rows = 500, max_groups = 2, max_rows_per_group = 3 }
[tables.v.columns]
patient_id = {}
[tables.trips]
unit = { column = "rider_id", max_rows = 5000 }
[tables.trips.columns]
rider_id = {}
"""
SQL = """
CREATE TABLE stays AS SELECT 1 AS patient_id, '1' AS ward, 30::UTINYINT AS age;
CREATE TABLE trips AS SELECT 1 AS rider_id;
CREATE VIEW v AS SELECT patient_id, CAST(ward AS INTEGER) AS w FROM stays;
"""


def test_the_guides_examples_are_what_check_prints(tmp_path: Path, run: Run) -> None:
    clinic = tmp_path / "clinic"
    clinic.mkdir()
    database, policy = clinic / "clinic.duckdb", clinic / "clinic.toml"
    with duckdb.connect(str(database)) as db:
        db.execute(SQL)
    policy.write_text(POLICY.replace("2000", "10").replace("= 4", "= 1"), encoding="utf-8")
    asked = run("query", str(database), "SELECT ward, count(*) FROM stays GROUP BY ward")
    assert asked.code == 0
    policy.write_text(POLICY, encoding="utf-8")
    database.chmod(0o644)
    policy.chmod(0o600)
    clinic.chmod(0o775)
    shown = run("check", str(database))
    printed = (shown.out + shown.err).replace(str(tmp_path), "/srv")
    blocks = re.findall(r"```text\n(worth a second look:.*?)```", GUIDE.read_text("utf-8"), re.S)
    assert len(blocks) == 1
    assert blocks[0] in printed, printed


def test_following_the_guide_until_nothing_is_left(tmp_path: Path) -> None:
    database, policy = tmp_path / "clinic.duckdb", tmp_path / "clinic.toml"
    with duckdb.connect(str(database)) as db:
        db.execute(SQL)
    policy.write_text(POLICY, encoding="utf-8")
    followed = []
    while advice := check(policy, str(database)).advice:
        first = advice[0]
        followed.append(first.path)
        if first.write:
            policy.write_text(applied(policy.read_text(encoding="utf-8"), first), encoding="utf-8")
        with duckdb.connect(str(database)) as db:
            for statement in first.run:
                db.execute(statement)
    assert len(followed) == len(set(followed)) == 7
