"""A view that takes hours to read, for tests of what happens meanwhile."""

from __future__ import annotations

from pathlib import Path

from tests.examples.policies import ROW, integers, one_table, people, within
from tests.examples.sources import example

UNITS = (ROW, people("person", 2, null="drop"))
LONG = "SELECT g FROM t GROUP BY g HAVING sum(v) > 500000"


def endless(folder: Path, unit: str = ROW, rows: int = 10**11, scans: int = 1) -> tuple[Path, Path]:
    """The database and its policy."""
    columns = {"g": integers(0, 3), "v": within(0, 50), "person": ""}
    return example(
        folder,
        one_table(
            "t", columns, unit=unit, rows=10**6, epsilon=10.0, more=f"[engine]\nscans = {scans}"
        ),
        "CREATE VIEW t AS SELECT (i % 4)::INTEGER AS g, (hash(i) % 50)::BIGINT AS v,"
        f" i AS person FROM range({rows}) r(i)",
    )
