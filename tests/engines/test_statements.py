"""The SQL of a scan is what its golden file says, on every engine."""

from __future__ import annotations

import pytest

from .statements import FOLDER, QUERIES, written


@pytest.mark.parametrize("name", QUERIES)
def test_a_scan_is_written_as_its_file_says(name: str) -> None:
    assert (FOLDER / f"{name}.sql").read_text(encoding="utf-8") == written(name)


def test_every_file_belongs_to_a_query() -> None:
    assert {path.stem for path in FOLDER.glob("*.sql")} == set(QUERIES)
