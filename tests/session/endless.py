"""A view that takes hours to read, for tests of what happens meanwhile."""

from __future__ import annotations

from pathlib import Path

import duckdb

_POLICY = """
[budget]
epsilon = 10.0
[tables.t]
rows_per_group = 1000000
{unit}
[tables.t.columns]
g = {{ keys = {{ integers = [0, 3] }} }}
v = {{ bounds = [0, 50] }}
person = {{}}
[engine]
scans = {scans}
"""
UNITS = ('unit = "row"', 'unit = { column = "person", max_rows = 2, null = "drop" }')
LONG = "SELECT g FROM t GROUP BY g HAVING sum(v) > 500000"


def endless(
    folder: Path, unit: str = UNITS[0], rows: int = 10**11, scans: int = 1
) -> tuple[Path, Path]:
    """The database and its policy."""
    database, policy = folder / "d.duckdb", folder / "p.toml"
    with duckdb.connect(str(database)) as connection:
        connection.execute(
            "CREATE VIEW t AS SELECT (i % 4)::INTEGER AS g, (hash(i) % 50)::BIGINT AS v,"
            f" i AS person FROM range({rows}) r(i)"
        )
    policy.write_text(_POLICY.format(unit=unit, scans=scans))
    return database, policy
