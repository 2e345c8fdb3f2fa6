"""Random queries over a small hospital, and what plain DuckDB answers: they must mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import duckdb
from sqlglot import exp

from probe_sql.policy import Policy, parse_policy
from probe_sql.sql.blocks import take_apart
from probe_sql.sql.outer import check_outer, render_outer
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.script import Block, Script
from probe_sql.sql.text import read

POLICY = """
[budget]
epsilon = 1000000.0
per_query = 900.0
[defaults]
fnr = 0.000001
spend = "all"
[reuse]
sharpen = "off"
[tables.stays]
rows_per_group = 100
[tables.stays.columns]
ward = { type = "VARCHAR", keys = { table = "wards", column = "ward" } }
sex = { type = "VARCHAR", keys = ["F", "M"] }
lvl = { type = "INTEGER", keys = { integers = [1, 3] }, bounds = [1, 3] }
pain = { type = "INTEGER", bounds = [0, 12] }
died = { type = "BOOLEAN", keys = [true, false] }
seen = { type = "TIMESTAMP", keys = { dates = ["2024-01-01", "2024-03-31"] } }
[tables.visits]
rows_per_group = 100
[tables.visits.columns]
ward = { type = "VARCHAR", keys = { table = "wards", column = "ward" } }
lvl = { type = "INTEGER", keys = { integers = [1, 3] }, bounds = [1, 3] }
fee = { type = "INTEGER", bounds = [0, 10] }
[public.wards]
key = ["ward"]
[public.wards.columns]
ward = "VARCHAR"
hall = "VARCHAR"
beds = { type = "INTEGER", bounds = [0, 400] }
[public.halls]
key = ["hall"]
[public.halls.columns]
hall = "VARCHAR"
floor = { type = "INTEGER", bounds = [0, 100] }
"""
# No key is NULL: those rows are in no group. All else may be.
TABLES = (
    "CREATE TABLE wards AS SELECT * FROM (VALUES ('A', 'n', 3), ('B', 'n', 60), ('C', 's', 5),"
    " ('D', NULL, NULL)) t(ward, hall, beds)",
    "CREATE TABLE halls AS SELECT * FROM (VALUES ('n', 1), ('s', 2), ('w', NULL)) t(hall, floor)",
    "CREATE TABLE stays AS SELECT ['A', 'B', 'C', 'D'][1 + (i * i + i // 7) % 4] AS ward,"
    " CASE WHEN i % 5 < 3 THEN 'F' ELSE 'M' END AS sex, 1 + (i * 5 + i // 4) % 3 AS lvl,"
    " CASE WHEN i % 11 > 0 THEN (i * i // 3) % 13 END AS pain,"
    " CASE WHEN i % 13 > 0 THEN i % 6 = 1 END AS died,"
    " TIMESTAMP '2024-01-01 08:00:00' + to_days(i % 91) AS seen FROM range(720) r(i)",
    "CREATE TABLE visits AS SELECT ['A', 'B', 'C', 'D'][1 + (i + i // 5) % 4] AS ward,"
    " 1 + (i // 3) % 3 AS lvl, CASE WHEN i % 7 > 0 THEN (i * 13 // 4) % 11 END AS fee"
    " FROM range(300) r(i)",
)
NUMBER = {"stays": "pain", "visits": "fee"}


def build(folder: Path) -> Path:
    """Create the database and its policy in `folder`; returns the database's path."""
    (folder / "policy.toml").write_text(POLICY)
    path = folder / "clinic.duckdb"
    with duckdb.connect(str(path)) as db:
        for statement in TABLES:
            db.execute(statement)
    return path


class Queries:
    """Makes random queries; equal seeds make equal ones."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def _one(self, *texts: str) -> str:
        return self._random.choice(texts)

    def _some(self, share: float) -> bool:
        return self._random.random() < share

    # --- inside of blocks ---

    def condition(self, table: str, depth: int = 2) -> str:
        """A condition on rows of a private table."""
        x, k = NUMBER[table], self._random.randint
        if depth and self._some(0.45):
            left, right = self.condition(table, depth - 1), self.condition(table, depth - 1)
            return self._one(
                f"({left} AND {right})",
                f"({left} OR {right})",
                f"NOT ({left})",
                f"NOT ({left} OR NOT {right})",
                f"({left}) IS NOT TRUE",
                f"({left}) IS NULL",
                f"CASE WHEN {left} THEN {right} ELSE {x} > 2 END",
            )
        words = [
            f"{x} > {k(0, 8)}", f"{x} <= {k(3, 11)}", f"{x} BETWEEN {k(0, 4)} AND {k(5, 12)}",
            f"{x} NOT BETWEEN {k(0, 5)} AND 6", f"{x} IN (2, 3, 5, {k(6, 12)})",
            f"{x} NOT IN (1, {k(2, 9)})", f"{x} NOT IN (1, NULL)", f"{x} IS NULL",
            f"{x} IS NOT NULL", f"{x} % {k(2, 9)} = 1", f"-{x} < {-k(1, 8)}", f"{x} <> {k(2, 9)}",
            f"{x} IS DISTINCT FROM 4", f"coalesce({x}, 0) < {k(2, 9)}", f"{x} + lvl > {k(2, 9)}",
            f"lvl = {k(1, 3)}", f"lvl <> {k(1, 3)}", "ward IN ('A', 'B')", "ward <> 'C'",
            "ward LIKE '%B'", "ward NOT IN (SELECT ward FROM wards WHERE beds > 50)",
            "ward IN (SELECT ward FROM wards WHERE hall IS NULL OR beds < 5)",
            f"{x} NOT IN (SELECT beds FROM wards)", f"{x} IN (SELECT beds FROM wards)",
            f"{x} NOT IN (SELECT beds FROM wards WHERE beds > {self._one('4', '1000')})",
            f"{x} > (SELECT min(beds) FROM wards WHERE beds > {self._one('4', '1000')})",
            f"{x} > (SELECT avg({x}) FROM {table})",
            "ward IN (SELECT ward FROM visits GROUP BY ward HAVING count(*) > 74)",
        ]  # fmt: skip
        if table == "stays":
            words += ["died", "NOT died", "died IS NULL", "sex = 'F'", "sex || ward <> 'FA'",
                      "seen >= '2024-02-01'", "month(seen) = 2", "NOT (died AND pain > 3)",
                      "CAST(seen AS DATE) < DATE '2024-03-01'", "died = (sex = 'F')",
                      "extract(dow FROM seen) IN (0, 6)"]  # fmt: skip
        return self._random.choice(words)

    def aggregate(self, table: str) -> str:
        """An aggregate, whose value is exact where there is no noise."""
        x = NUMBER[table]
        return self._one(
            "count(*)",
            f"count({x})",
            f"sum({x})",
            f"count(*) FILTER (WHERE {self.condition(table, 1)})",
            f"sum(CASE WHEN {self.condition(table, 1)} THEN 1 ELSE 0 END)",
            f"sum({x}) FILTER (WHERE {self.condition(table, 0)})",
            "count(*) * 2 + 1",
            f"sum({x} + lvl)",
            f"count(nullif({x}, 4))",
            f"count_if({x} > 3)",
            "sum(lvl)",
            self.exclusive(table),
        )

    def derived(self, table: str) -> str:
        """The table in FROM behind one or two conditions, with OR between rows of each."""
        x = NUMBER[table]
        one = f"SELECT * FROM {table} WHERE {self.condition(table, 1)} OR {self.condition(table)}"
        return self._one(
            f"({one}) AS q",
            f"(SELECT * FROM ({one}) AS r WHERE {self.condition(table, 1)} OR {x} > 9) AS q",
            f"(SELECT *, {x} > 4 OR lvl = 2 AS most FROM {table}) AS q",
            f"(SELECT * FROM (SELECT *, {self.condition(table, 0)} AS most FROM {table}) AS r"
            f" WHERE most OR {self.condition(table, 0)}) AS q",
        )

    def exclusive(self, table: str) -> str:
        """A number made of aggregates whose filters exclude each other, or seem to."""
        x, few = NUMBER[table], self._random.randint(2, 9)
        pairs = (
            (f"{x} < {few}", f"{x} >= {few}"),
            (f"{x} < {few}", f"NOT ({x} < {few})"),
            (f"{x} <= {few}", f"{x} >= {few}"),
            ("lvl = 1", "lvl = 2"),
            ("lvl = 1 OR lvl = 2", "lvl = 3 OR lvl = 2"),
            (f"{x} IS NULL", f"{x} IS NOT NULL"),
            ("ward = 'A'", "ward IN ('B', 'A')"),
            (f"lvl = 1 AND {x} > 3", f"lvl = 2 OR {x} > 3"),
        )
        halves = self._random.choice(pairs)
        one, two = (f"count(*) FILTER (WHERE {half})" for half in halves)
        return self._one(
            f"{one} - {two}",
            f"2 * {one} + {two}",
            f"count(*) - {one} - {two}",
            f"sum({x}) FILTER (WHERE {halves[0]}) + {two}",
        )

    def block(self, table: str = "", keys: Sequence[str] = (), having: bool = True) -> str:
        """A block with these keys and a number n."""
        table = table or self._one("stays", "visits")
        source, where = table, self._where(table)
        if self._some(0.2):
            source = f"{table} JOIN wards USING (ward)"
        elif self._some(0.25):
            source = self.derived(table)
        shown = ", ".join([*keys, f"{self.aggregate(table)} AS n"])
        group = f" GROUP BY {', '.join(keys)}" if keys else ""
        tail = f" HAVING {self.having()}" if having and keys and self._some(0.4) else ""
        return f"SELECT {shown} FROM {source}{where}{group}{tail}"

    def having(self, depth: int = 1) -> str:
        """A condition on groups."""
        if depth and self._some(0.5):
            left, right = self.having(depth - 1), self.having(depth - 1)
            return self._one(
                f"{left} AND {right}",
                f"({left} OR {right})",
                f"NOT ({left})",
                f"NOT ({left} AND {right})",
            )
        few = self._random.randint(3, 60)
        return self._one(
            f"count(*) > {few}",
            f"count(*) <= {3 * few}",
            f"count(*) BETWEEN {few} AND {4 * few}",
            "ward <> 'A'",
            "ward IN ('A', 'B', 'C')",
            f"count(*) <> {few}",
            f"count(*) > (SELECT max(beds) FROM wards WHERE beds > {self._one('4', '1000')})",
            f"count(*) NOT IN (SELECT beds FROM wards WHERE beds > {self._one('4', '1000')})",
            "count(*) NOT IN (SELECT beds FROM wards)",
            "count(*) * 3 > (SELECT count(*) FROM visits)",
        )

    def _where(self, table: str) -> str:
        return f" WHERE {self.condition(table)}" if self._some(0.6) else ""

    # --- around blocks ---

    def query(self) -> str:
        """A query that reads private rows, with something around its blocks."""
        a, b = self.block("stays", ["ward"]), self.block("visits", ["ward"])
        two = self.block("stays", ["ward", "sex"])
        c = self.block("stays", ["lvl"], having=False)
        rows = self._one("stays", "visits")
        some = self.condition(rows)
        return self._one(
            self.block(keys=["ward"]),
            self.block(keys=["lvl"], having=False),
            self.block(),
            two,
            f"SELECT ward, n, n * 2 AS m FROM ({a}) q WHERE n > 20",
            f"SELECT hall, sum(n), count(*) FROM ({a}) q JOIN wards USING (ward) GROUP BY hall",
            f"WITH a AS ({a}), b AS ({b}) SELECT ward, a.n, b.n, a.n - b.n FROM a JOIN b"
            " USING (ward)",
            f"WITH a AS ({a}), b AS ({b}) SELECT ward FROM a {self._one('SEMI', 'ANTI')} JOIN b"
            " USING (ward)",
            f"WITH a AS ({a}), b AS ({b}) SELECT coalesce(a.ward, b.ward), a.n, b.n FROM a"
            f" {self._one('FULL', 'LEFT', 'RIGHT')} JOIN b ON a.ward = b.ward AND a.n > 3",
            f"SELECT w.ward, beds, n FROM wards w LEFT JOIN ({a}) q ON q.ward = w.ward",
            f"SELECT ward, n FROM ({a}) q {self._one('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')}"
            f" SELECT ward, n FROM ({b}) z",
            "SELECT ward, n, rank() OVER (ORDER BY n DESC), lag(n) OVER (ORDER BY ward)"
            f" FROM ({a}) q",
            f"SELECT ward, sex, n FROM ({two}) q QUALIFY row_number() OVER (PARTITION BY ward"
            " ORDER BY n DESC, sex) = 1",
            f"SELECT max(n), min(n), avg(n), count(*) FROM ({two}) q",
            f"SELECT ward, sum(n) AS s FROM ({two}) q GROUP BY ward HAVING sum(n) > 40",
            f"SELECT ward FROM wards WHERE ward {self._one('IN', 'NOT IN')} (SELECT ward"
            f" FROM {rows} WHERE {some})",
            f"SELECT ward FROM wards w WHERE {self._one('', 'NOT ')}EXISTS (SELECT 1 FROM {rows} s"
            f" WHERE s.ward = w.ward AND {self.condition(rows, 0)})",
            f"SELECT w.ward, (SELECT count(*) FROM {rows} s WHERE s.ward = w.ward AND"
            f" {self.condition(rows, 0)}) AS n FROM wards w",
            f"SELECT DISTINCT ward FROM {rows} WHERE {some}",
            f"SELECT DISTINCT lvl, ward FROM {rows} WHERE {some}",
            f"SELECT ward FROM {rows} WHERE {some} {self._one('UNION', 'EXCEPT', 'INTERSECT')}"
            f" SELECT ward FROM wards WHERE {self._one('beds > 4', 'hall IS NULL', 'TRUE')}",
            f"SELECT (SELECT count(*) FROM stays WHERE {self.condition('stays')})"
            f" - (SELECT count(*) FROM visits WHERE {self.condition('visits')}) AS d",
            f"WITH p AS (SELECT ward AS w, lvl FROM {rows} WHERE {some}) SELECT w, count(*) AS n"
            " FROM p WHERE lvl < 3 GROUP BY w",
            f"SELECT ward, count(*) AS n FROM {rows} WHERE {some} GROUP BY ROLLUP (ward)",
            f"SELECT ward, lvl, count(*) AS n FROM {rows} GROUP BY GROUPING SETS ((ward), (lvl),"
            " ()) HAVING count(*) > 30",
            f"SELECT ward, CASE WHEN count(*) > 50 THEN 'many' ELSE 'few' END AS k FROM {rows}"
            f" WHERE {some} GROUP BY ward",
            f"SELECT ward, n FROM ({a}) q WHERE n = (SELECT max(n) FROM ({a}) z)",
            f"SELECT k, count(*), sum(n) FROM (SELECT ward AS k, n FROM ({a}) q UNION ALL"
            f" SELECT ward, n FROM ({b}) z WHERE n > 5 OR ward = 'A') u GROUP BY k",
            f"SELECT lvl, n FROM ({c}) q {self._one('UNION', 'UNION ALL', 'EXCEPT', 'INTERSECT')}"
            f" (SELECT lvl, n FROM ({c}) z UNION SELECT 7, n FROM ({a}) y)",
            f"SELECT lvl, count(*) AS n FROM {rows} WHERE ward {self._one('IN', 'NOT IN')}"
            f" (SELECT ward FROM ({a}) q WHERE n > 30 OR ward = 'B') OR lvl = 1 GROUP BY lvl",
            f"SELECT count(*) AS n FROM {rows} WHERE lvl {self._one('IN', 'NOT IN')} (SELECT lvl"
            f" FROM ({c}) q WHERE n > 40 UNION SELECT lvl FROM ({c}) z WHERE n < 9) AND {some}",
            f"SELECT e, f, g FROM (SELECT {self.exclusive(rows)} AS e, {self.exclusive(rows)} AS f,"
            f" {self.aggregate(rows)} AS g FROM {self.derived(rows)}) q",
            f"SELECT lvl, e, f, e > f OR e = 0 FROM (SELECT lvl, {self.exclusive(rows)} AS e,"
            f" {self.exclusive(rows)} AS f FROM {self.derived(rows)} WHERE {some} GROUP BY lvl) q",
            f"SELECT hall, count(*) AS n FROM {rows} JOIN wards USING (ward) WHERE {some} AND hall"
            " IS NOT NULL GROUP BY hall",
            f"SELECT floor, count(*) AS n FROM {rows} NATURAL JOIN wards NATURAL JOIN halls"
            f" WHERE {some} GROUP BY floor",
            f"SELECT w.ward, count(s.lvl) AS n FROM wards w LEFT JOIN {rows} s ON s.ward = w.ward"
            f" AND s.lvl < 3 GROUP BY w.ward",
        )


class Exact:
    """A query taken apart, its blocks asked of plain DuckDB and put together: there is no noise."""

    def __init__(self) -> None:
        self.plain = duckdb.connect()
        for statement in TABLES:
            self.plain.execute(statement)
        self._policy: Policy = parse_policy(POLICY)

    def apart(self, sql: str) -> Script | None:
        """The blocks of a query."""
        return take_apart(reshaped(read(sql), self._policy), self._policy)

    def rows(self, script: Script) -> tuple[list[tuple[Any, ...]], bool]:
        """What comes of it, and whether blocks see all that SQL does.

        They do not where a group has no rows, which SQL leaves out, or a sum of none, which is
        NULL there.
        """
        alike = True
        with self.plain.cursor() as db:
            for block in script.blocks:
                select = self._closed(db, block)
                alike &= self._full(db, select)
                db.execute(f"CREATE TEMP TABLE {block.table} AS {render_outer(select)}")
            check_outer(script.outer, script.source, script.public)
            rows = db.execute(render_outer(script.outer)).fetchall()
            for block in script.blocks:
                db.execute(f"DROP TABLE {block.table}")
        return rows, alike

    def _closed(self, db: duckdb.DuckDBPyConnection, block: Block) -> exp.Select:
        """The block with its holes as subqueries."""
        select = block.select.copy()
        for hole in block.holes:
            if hole.kind == "table":
                db.execute(f"CREATE OR REPLACE TEMP VIEW {hole.name} AS {render_outer(hole.query)}")
            for node in [one for one in select.find_all(exp.Placeholder) if one.this == hole.name]:
                if hole.kind == "list":
                    assert node.parent is not None
                    node.parent.set("query", exp.Subquery(this=hole.query.copy()))
                    node.parent.set("field", None)
                else:
                    node.replace(exp.Subquery(this=hole.query.copy()))
        return select

    def _full(self, db: duckdb.DuckDBPyConnection, select: exp.Select) -> bool:
        asked = select.args.get("having")
        if asked is not None and asked.this.sql() == "COUNT(*) >= 1":
            return True
        full, bare = select.copy(), select.copy()
        for part in ("having", "order", "limit", "offset"):
            full.set(part, None)
            bare.set(part, None)
        for inner in bare.find_all(exp.Select):
            inner.set("where", None)
        found, there = (db.execute(render_outer(one)).fetchall() for one in (full, bare))
        keys = len(select.args["group"].expressions) if select.args.get("group") else 0
        shown = [row[keys:] if len(row) > keys else row for row in found]
        return len(found) == len(there) and not any(value is None for row in shown for value in row)


def shown(value: Any) -> str:
    """A value as a text that is equal for equal numbers of any type."""
    if value is None or isinstance(value, bool | str):
        return repr(value)
    try:
        return f"{float(value):.6g}"
    except (TypeError, ValueError):
        return repr(value)


def table(rows: Any) -> list[tuple[str, ...]]:
    """Rows in one order, so that two answers can be compared."""
    return sorted(tuple(map(shown, row)) for row in rows)
