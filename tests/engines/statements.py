"""The scan of representative queries in the SQL of every engine, one file a query.

    python -m tests.engines.statements    rewrite all files

They are read by people: what changes here changes what private rows go through.
"""

from __future__ import annotations

from pathlib import Path

from probe_sql.plan.engine import Engine
from probe_sql.plan.plan import make_plan
from probe_sql.scan.engine import DUCKDB
from probe_sql.scan.postgres.engine import POSTGRESQL
from probe_sql.scan.spark.engine import SPARK
from tests.sql.hospital import policy

FOLDER = Path(__file__).parent / "statements"
ENGINES: tuple[Engine, ...] = (DUCKDB, POSTGRESQL, SPARK)
_WARD = "SELECT ward FROM stays {} GROUP BY ward HAVING {}"
QUERIES = {
    "count": _WARD.format("WHERE age > 50", "count(*) > 5"),
    "count_distinct": _WARD.format("", "count(DISTINCT zone) > 5"),
    "exclusive": _WARD.format(
        "", "count_if(sex = 'f') > 5 AND avg(age) FILTER (WHERE sex = 'm') > 60"
    ),
    "average_integer": _WARD.format("", "avg(age) > 65"),
    "sum_decimal": _WARD.format("", "sum(cost) > 65"),
    "sum_double": _WARD.format("", "sum(weight) > 65"),
    "sum_computed": _WARD.format("", "sum(age * 2 + 1) > 65"),
    "sum_above_zero": _WARD.format("", "avg(least(greatest(age, 18), 90)) > 65"),
    "maximum": _WARD.format("", "max(age) < 65"),
    "joint_keys": "SELECT site, floor_no FROM stays GROUP BY site, floor_no HAVING count(*) > 5",
    "computed_key": "SELECT month(admitted) FROM stays GROUP BY month(admitted) "
    "HAVING count(*) > 5",
    "public_join": "SELECT s.ward FROM stays s JOIN diseases d ON d.name = s.disease "
    "GROUP BY s.ward HAVING count(*) > 5",
}  # fmt: skip


def written(name: str) -> str:
    """What the file of a query should hold."""
    parts = [f"-- {QUERIES[name]}"]
    for engine in ENGINES:
        plan = make_plan(QUERIES[name], policy(), engine=engine)
        (statement,) = engine.statements(plan.scan, pretty=True)
        parts.append(f"-- {engine.name}\n{statement};")
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for query in QUERIES:
        (FOLDER / f"{query}.sql").write_text(written(query), encoding="utf-8")
