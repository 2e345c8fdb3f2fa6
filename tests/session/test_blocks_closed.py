"""Blocks are closed, and what is put into one follows a rule that is known before any charge."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from probe_sql.answer import Answer
from probe_sql.errors import ProbeError
from probe_sql.policy import parse_policy
from probe_sql.session import connect
from tests.examples.clinic import build, seeded
from tests.session.test_blocks import WARDS, ask

pytestmark = pytest.mark.service  # processes are started

ZONES = 10_000
POLICY = """
[budget]
epsilon = 1000.0
[tables.trips]
rows_per_group = 2
[tables.trips.columns]
zone = { type = "INTEGER", keys = { integers = [0, 9999] } }
fare = { type = "INTEGER", bounds = [0, 50] }
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return build(tmp_path)


@pytest.mark.parametrize(("operator", "least", "found"), [
    ("IN", -1_000_000, 2 * ZONES), ("NOT IN", -1_000_000, 0), ("IN", 1_000_000, 0),
])  # fmt: skip
def test_ten_thousand_released_keys_are_a_table(
    tmp_path: Path, operator: str, least: int, found: int
) -> None:
    """Each zone has two trips; an IN of so many written values is refused."""
    rows = {
        "zone": pa.array([i % ZONES for i in range(2 * ZONES)], pa.int32()),
        "fare": pa.array([i % 50 for i in range(2 * ZONES)], pa.int32()),
    }
    zones = "SELECT zone, count(*) AS n FROM trips GROUP BY zone"
    with connect(
        {"trips": pa.table(rows)}, parse_policy(POLICY), ledger=tmp_path / "trips.ledger"
    ) as db:
        answer = db.sql(
            f"SELECT count(*) AS n FROM trips WHERE zone {operator}"
            f" (SELECT zone FROM ({zones}) q WHERE n > {least})",
            epsilon=80.0,
        )
        assert isinstance(answer, Answer)
        assert [row[0] for row in answer.rows] == [found]
        assert db.budget.spent == pytest.approx(answer.privacy.epsilon)


# NULL of a block that lists nothing, and numbers without an end or that are none.
NOTHING = {
    "NULL": f"SELECT max(n) FROM ({WARDS}) q WHERE n > 1000000",
    "infinity": f"SELECT max(n) / 0 FROM ({WARDS}) q",
    "minus infinity": f"SELECT ln(0 * max(n)) FROM ({WARDS}) q",
    "no number": f"SELECT CAST('nan' AS DOUBLE) * max(n) FROM ({WARDS}) q",
}


@pytest.mark.parametrize("value", NOTHING)
@pytest.mark.parametrize("having", ["count(*) > {}", "NOT count(*) > {}", "avg(age) < {}"])
def test_what_is_no_threshold_holds_for_no_group_and_draws_nothing(
    database: Path, value: str, having: str
) -> None:
    """As NULL does in SQL; only the block that gave it is charged."""
    threshold = having.format(f"({NOTHING[value]})")
    with seeded(database, 8) as db:
        answer = ask(db, f"SELECT ward FROM patients GROUP BY ward HAVING {threshold}", epsilon=1.0)
        assert answer.rows == ()
        [entry] = db.ledger()
        assert "/* block 2 */" not in entry.sql
        assert db.budget.spent == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(("sql", "what"), [
    (f"SELECT ward, (SELECT count(*) FROM patients p WHERE p.age > a.n) AS m FROM ({WARDS}) a",
     "reads no columns of what is around it"),
    (f"SELECT ward FROM patients GROUP BY ward HAVING count(*) > (SELECT max(n) FROM ({WARDS}) w"
     " WHERE w.ward = patients.ward)", "cannot run"),
    ("SELECT count(*) AS n FROM patients p WHERE age > (SELECT avg(age) FROM patients q"
     " WHERE q.ward = p.ward)", "compared with other private rows"),
    (f"SELECT ward, m FROM ({WARDS}) a, LATERAL (SELECT count(*) AS m FROM patients"
     " WHERE age > a.n) x", "LATERAL is not allowed"),
    ("WITH patients AS (SELECT 1 AS age) SELECT count(*) FROM patients",
     "the name of the private table"),
    ("WITH x AS (WITH Patients AS (SELECT 1 AS age) SELECT count(*) AS n FROM patients)"
     " SELECT n FROM x", "the name of the private table"),
])  # fmt: skip
def test_a_block_is_closed_and_no_name_hides_a_private_table(
    database: Path, sql: str, what: str
) -> None:
    with seeded(database, 3) as db:
        with pytest.raises(ProbeError, match=what):
            db.sql(sql)
        assert db.ledger() == ()
