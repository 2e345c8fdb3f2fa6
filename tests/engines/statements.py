"""The scan of representative queries in the SQL of every engine, one file a query.

`functions.sql` has every function of the table.

    python -m tests.engines.statements    rewrite all files

They are read by people: what changes here changes what private rows go through.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from probe_sql.errors import Refused
from probe_sql.plan.plan import make_plan
from probe_sql.plan.tally import Engine
from probe_sql.policy import Policy, Unit
from probe_sql.scan.engine import DUCKDB
from probe_sql.scan.expression_types import ExpressionTypes
from probe_sql.scan.postgres.engine import POSTGRESQL
from probe_sql.scan.spark.engine import SPARK
from probe_sql.sql.functions import FUNCTIONS
from probe_sql.sql.functions.arguments import Want
from probe_sql.sql.functions.row import Row
from tests.examples.hospital import policy

FOLDER = Path(__file__).parent / "statements"
ENGINES: tuple[Engine, ...] = (DUCKDB, POSTGRESQL, SPARK)
WARD = "SELECT ward FROM stays {} GROUP BY ward HAVING {}"
QUERIES = {
    "count": WARD.format("WHERE age > 50", "count(*) > 5"),
    "count_distinct": WARD.format("", "count(DISTINCT zone) > 5"),
    "exclusive": WARD.format(
        "", "count_if(sex = 'f') > 5 AND avg(age) FILTER (WHERE sex = 'm') > 60"
    ),
    "average_integer": WARD.format("", "avg(age) > 65"),
    "sum_decimal": WARD.format("", "sum(cost) > 65"),
    "sum_double": WARD.format("", "sum(weight) > 65"),
    "sum_computed": WARD.format("", "sum(age * 2 + 1) > 65"),
    "sum_above_zero": WARD.format("", "avg(least(greatest(age, 18), 90)) > 65"),
    "maximum": WARD.format("", "max(age) < 65"),
    "joint_keys": "SELECT site, floor_no FROM stays GROUP BY site, floor_no HAVING count(*) > 5",
    "computed_key": "SELECT month(admitted) FROM stays GROUP BY month(admitted) "
    "HAVING count(*) > 5",
    "ranges": "SELECT zone, admitted FROM stays GROUP BY zone, admitted HAVING count(*) > 5",
    "range_and_list": "SELECT ward, zone FROM stays GROUP BY ward, zone HAVING avg(age) > 65",
    "people_by_range": "SELECT zone, ward FROM stays GROUP BY zone, ward HAVING count(*) > 5",
    "all_rows": "SELECT count(*), avg(age) FROM stays WHERE urgent",
    "buckets": "SELECT floor(weight / 10) * 10 AS b, count(*) FROM stays GROUP BY b",
    "median": "SELECT ward, median(cost) FROM stays GROUP BY ward",
    "public_join": "SELECT s.ward FROM stays s JOIN diseases d ON d.name = s.disease "
    "GROUP BY s.ward HAVING count(*) > 5",
    "people": WARD.format("WHERE age > 50", "count(*) > 5"),
}  # fmt: skip
UNITS = {
    "people": Unit("zone", 10, max_groups=3, max_rows_per_group=2),
    "people_by_range": Unit("age", 10, max_groups=3),
}


def rules(name: str) -> Policy:
    """The policy that a query is planned by."""
    found = policy()
    stays = found.tables["stays"]
    if name not in UNITS:
        return found
    # Of people all that a table declares is in the statement.
    columns = {
        column: stays.columns[column] for column in ("ward", "zone", "age", "site", "floor_no")
    }
    capped = replace(stays, unit=UNITS[name], columns=columns)
    return replace(found, tables={**found.tables, "stays": capped})


def written(name: str) -> str:
    """What the file of a query should hold."""
    parts = [f"-- {QUERIES[name]}"]
    for engine in ENGINES:
        plan = make_plan(QUERIES[name], rules(name), engine=engine)
        (statement,) = engine.statements(plan.scan, pretty=True)
        parts.append(f"-- {engine.name}\n{statement};")
    return "\n\n".join(parts) + "\n"


_GIVEN = {
    Want.NUMBER: "weight", Want.ANY: "weight", Want.TEXT: "name", Want.MOMENT: "arrived",
    Want.WHOLE: "2", Want.WRITTEN: "'a'",
}  # fmt: skip


def called(row: Row) -> str:
    """A call of a function with all its arguments."""
    given = [_GIVEN.get(taken.want) or f"'{taken.units[0]}'" for taken in row.takes]
    return f"{row.name}({', '.join(given)})"


def every_function() -> str:
    """What each engine computes for a call of each function."""
    parts = []
    for row in FUNCTIONS.values():
        plan = make_plan(WARD.format(f"WHERE {called(row)} IS NULL", "count(*) > 5"), policy())
        bound = plan.scan.relation.where[0].ast.this.unnest()
        lines = [f"-- {called(row)}", f"{bound.sql(dialect='duckdb')};"]
        for engine in (POSTGRESQL, SPARK):
            try:
                made = engine.translator(ExpressionTypes(plan.scan)).translate(bound)
                lines.append(f"{made.sql(dialect=engine.dialect)};")
            except Refused as refusal:
                lines.append(f"-- {refusal.what}: {refusal.why}")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for query in QUERIES:
        (FOLDER / f"{query}.sql").write_text(written(query), encoding="utf-8")
    (FOLDER / "functions.sql").write_text(every_function(), encoding="utf-8")
