"""NULL where a condition or a value is expected: PostgreSQL gives it the type of a text."""

from __future__ import annotations

from probe_sql.errors import ProbeError, ScanError
from probe_sql.plan.plan import make_plan
from probe_sql.vault.backends import open_backend
from tests.engines import events
from tests.engines.contract import measured, tables
from tests.engines.server import Server

_FILTERS = (
    "NULL", "NOT NULL", "(NULL)", "NULL OR flag", "NULL AND flag", "NULL IS NULL", "NULL = 1",
    "NULL > NULL",
    "coalesce(NULL, NULL)", "coalesce(NULL, flag)", "CASE WHEN NULL THEN flag END",
    "CASE WHEN flag THEN NULL END", "CASE WHEN flag THEN NULL ELSE NULL END", "small IN (NULL)",
    "small IN (1, NULL)", "small BETWEEN NULL AND 3", "note = NULL", "note LIKE NULL",
    "day = NULL", "nullif(NULL, NULL)", "nullif(flag, NULL)", "CAST(NULL AS BOOLEAN)", "TRUE",
    "FALSE",
    "NULL IS NOT DISTINCT FROM NULL", "NOT (NULL)", "length(NULL) > 1", "abs(NULL) > 1",
    "least(NULL, small) > 1",
    "NULL + 1 > 2", "-NULL > 2", "NULL || note = 'a'", "date_part('year', NULL) > 3",
)  # fmt: skip
_VALUES = (
    "NULL", "coalesce(NULL, NULL)", "CASE WHEN flag THEN NULL END", "nullif(small, NULL)",
    "CASE WHEN NULL THEN small END", "coalesce(NULL, small)", "least(small, NULL)",
    "greatest(NULL, NULL)",
    "NULL + small", "abs(NULL)", "CAST(NULL AS INTEGER)", "small * NULL", "round(NULL)",
    "length(NULL)",
)  # fmt: skip
CASES = [
    *(f"count(*) FILTER (WHERE {one}) > 0" for one in _FILTERS),
    *(f"count(CASE WHEN {one} THEN 1 END) > 0" for one in _FILTERS),
    *(f"count_if({one}) > 0" for one in _FILTERS),
    *(
        f"{f}({one}) > 0"
        for f in ("sum", "count", "avg", "min", "max", "median")
        for one in _VALUES
    ),
    *(f"count(DISTINCT {one}) > 0" for one in _VALUES),
]
QUERIES = [
    *(f"SELECT site FROM events GROUP BY site HAVING {one}" for one in CASES),
    *(f"SELECT site FROM events WHERE {one} GROUP BY site HAVING count(*) > 0" for one in _FILTERS),
]


def test_a_null_is_counted_as_in_duckdb_or_refused_before_it_is_charged(server: Server) -> None:
    policy = events.policy()
    source = tables(60)
    there = open_backend(server.url(schema=server.load(source)), policy)
    here = open_backend(source, policy)
    failed, counted = [], 0
    for query in QUERIES:
        try:
            plan = make_plan(query, policy.with_types(there.schemas()), engine=there.engine)
        except ProbeError:
            continue
        same = make_plan(query, policy.with_types(here.schemas()), engine=here.engine)
        for fuse in (True, False):
            try:
                if measured(there, plan, fuse) != measured(here, same, fuse):
                    failed.append(f"differs: {query}")
            except ScanError:
                failed.append(query)
        counted += 1
    there.close()
    here.close()
    assert not failed, failed
    assert counted > 50
