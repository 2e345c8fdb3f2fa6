"""Fixtures of the tests of asking again; others name their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.seeded import SeededWords
from probe_sql.database import open_database
from probe_sql.session import Connection
from probe_sql.vault.noise import Sampler
from tests.examples.clinic import build

from .again import rules


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return build(tmp_path)


@pytest.fixture
def db(source: Path) -> Iterator[Connection]:
    """With seeded noise, so that a question near a line ends the same way every time."""
    opened = open_database(source, rules(source.parent))
    seeded = replace(opened, sampler=Sampler(SeededWords(7)))
    with Connection(seeded, "maria", owner=True) as connection:
        yield connection
