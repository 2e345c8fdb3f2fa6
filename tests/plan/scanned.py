"""The exact measures of a scan on a plain DuckDB connection."""

from __future__ import annotations

import duckdb

from probe_sql.plan.tally import Scan
from probe_sql.scan.render import render_domain, render_public, render_scan
from probe_sql.vault.combining import combined


def scanned(connection: duckdb.DuckDBPyConnection, scan: Scan) -> list[tuple[int, ...]]:
    """The measures of every group, in domain order."""
    if not scan.measures:
        return []
    [size] = connection.execute(f"SELECT count(*) FROM ({render_domain(scan)})").fetchone() or (0,)
    found = connection.execute(render_scan(scan)).fetchnumpy()
    tallies = [found[name] for name in ("o", "g", *(f"n{i}" for i in range(len(scan.tallies))))]
    sql = render_public(scan)
    public = {} if sql is None else connection.execute(sql).fetchnumpy()
    numbers = [public[f"p{index}"] for index in range(len(public))]
    columns = combined(scan, size, tallies, numbers)
    return list(zip(*(column.tolist() for column in columns), strict=True))
