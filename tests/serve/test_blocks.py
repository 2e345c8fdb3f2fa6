"""SQL around private blocks, over PostgreSQL's protocol."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from tests.serve.conftest import Running

psycopg = pytest.importorskip("psycopg", reason="psycopg is the client of these tests")

WARDS = "SELECT ward, count(*) AS n FROM patients GROUP BY ward"


def connect(served: Running) -> Any:
    return psycopg.connect(served.address(), autocommit=True)


def remaining(db: Any) -> float:
    return float(db.execute("SHOW probe.remaining").fetchone()[0])


def test_public_tables_are_free_and_blocks_are_charged(served: Running) -> None:
    with connect(served) as db:
        before = remaining(db)
        rows = db.execute(
            "SELECT name FROM diseases WHERE type = %s ORDER BY 1", ["viral"]
        ).fetchall()
        assert ("influenza",) in rows
        assert remaining(db) == before
        with db.cursor(binary=True) as cursor:
            cursor.execute(
                f"SELECT ward, n, n / 2 AS half, DATE '2020-02-29' AS day FROM ({WARDS}) q"
                " ORDER BY ward LIMIT 2 WITH ACCURACY (epsilon = 0.2)"
            )
            found = cursor.fetchall()
        assert [row[0] for row in found] == ["A", "B"]
        assert isinstance(found[0][1], int)
        assert found[0][2] == pytest.approx(found[0][1] / 2)
        assert found[0][3] == datetime.date(2020, 2, 29)
        assert remaining(db) == pytest.approx(before - 0.2)
        kept = json.loads(db.execute("SHOW probe.answer").fetchone()[0])
        assert [block["name"] for block in kept["blocks"]] == ["q"]


def test_what_blocks_released_before_an_error_is_kept(served: Running) -> None:
    with connect(served) as db:
        with pytest.raises(psycopg.Error, match="Could not convert string 'A'"):
            db.execute(
                f"SELECT CAST(ward AS INTEGER) FROM ({WARDS}) q WITH ACCURACY (epsilon = 0.1)"
            )
        kept = json.loads(db.execute("SHOW probe.answer").fetchone()[0])
    assert kept["status"] == "failed"
    assert [row[0] for row in kept["blocks"][0]["rows"]] == ["A", "B", "C", "D"]


def test_explain_and_mistakes_cost_nothing(served: Running) -> None:
    with connect(served) as db:
        before = remaining(db)
        explain = f"EXPLAIN VERBOSE SELECT max(n) FROM ({WARDS}) q"
        assert ("block q",) in db.execute(explain).fetchall()
        with pytest.raises(psycopg.Error, match="the function pg_sleep is not allowed"):
            db.execute(f"SELECT pg_sleep(n) FROM ({WARDS}) q")
        assert remaining(db) == before
