"""What is told of a failure: one row for each class, and nothing of the database's own words."""

from __future__ import annotations

import pytest

from probe_sql.errors import Interrupted, OperationalError, ScanError
from probe_sql.vault.failures import OPENING, SCAN, UNDRAWN, Failure, opening_error, scan_error

WORDS = {"timeout": "5min", "schema": "public"}
ENGINES = ("", "postgres", "spark")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("failure", Failure)
def test_every_class_is_told_on_every_engine(failure: Failure, engine: str) -> None:
    scan = scan_error(failure, engine, **WORDS)
    assert UNDRAWN in (scan.why or "")
    opening = opening_error(failure, "the file {x}", engine=engine)
    assert "he file {x}" in str(opening)
    for error in (scan, opening):
        told = [text for text in (error.what, error.why, error.fix) if text is not None]
        assert not [text for text in told if text.endswith(".") or not text.strip()]
        assert error.__cause__ is None
        assert isinstance(error, Interrupted) == (failure is Failure.INTERRUPTED)
    if isinstance(scan, ScanError):
        assert scan.failure == failure.value


def test_an_engine_says_what_it_alone_knows_and_else_what_all_say() -> None:
    assert "5min" in (scan_error(Failure.TIMEOUT, "postgres", **WORDS).why or "")
    assert "tables of public" in (scan_error(Failure.DENIED, "postgres", **WORDS).fix or "")
    assert "Spark" in scan_error(Failure.MEMORY, "spark").what
    assert scan_error(Failure.BROKEN, "spark").what == scan_error(Failure.OTHER).what
    assert isinstance(opening_error(Failure.CLOSED, "x", engine="spark"), OperationalError)
    assert opening_error(Failure.OTHER, "x", "try y").fix == "try y"


def test_every_row_can_be_reached() -> None:
    for table in (SCAN, OPENING):
        assert {engine for engine, _ in table} <= set(ENGINES)
        assert ("", Failure.OTHER) in table
