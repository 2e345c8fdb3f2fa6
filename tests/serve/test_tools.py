"""What BI tools and editors ask the catalogue: answered or refused, and the session goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.serve.conftest import Running

psycopg = pytest.importorskip("psycopg", reason="psycopg is the client of these tests")
FILE = Path(__file__).parent.parent / "data" / "tools.sql"


def questions() -> list[tuple[str, str, str]]:
    """What is asked by whom, how many rows must come, and the SQL."""
    found = []
    for block in re.split(r"^--! ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        head, _, sql = block.partition("\n")
        what, _, rows = head.rpartition(": ")
        found.append((what, rows, sql.strip()))
    return found


@pytest.fixture(scope="module")
def db(served: Running) -> Iterator[Any]:
    with psycopg.connect(served.address(), autocommit=True) as connection:
        yield connection


@pytest.mark.parametrize(("what", "rows", "sql"), questions(), ids=lambda text: text[:40])
def test_tools_are_answered_or_refused(db: Any, what: str, rows: str, sql: str) -> None:
    before = db.execute("SHOW probe.remaining").fetchone()
    if rows == "refused":
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            db.execute(sql)
    else:
        found = db.execute(sql).fetchall()
        assert rows == "any" or (rows == "some" and found) or rows == str(len(found)), what
    assert db.execute("SHOW probe.remaining").fetchone() == before


def test_tools_are_told_the_same_in_binary_and_when_they_prepare(db: Any) -> None:
    for what, rows, sql in questions():
        if rows == "refused" or "%" in sql:
            continue
        plain = db.execute(sql).fetchall()
        cursor = db.cursor(binary=True)
        assert len(cursor.execute(sql, prepare=True).fetchall()) == len(plain), what


def test_the_collection_covers_the_tools() -> None:
    tools = {what.split(",")[0] for what, _, _ in questions()}
    assert tools >= {"DBeaver", "Metabase", "Superset", "Grafana", "Power BI", "Tableau"}
    assert len(questions()) > 50
