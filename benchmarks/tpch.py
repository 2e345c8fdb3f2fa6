"""TPC-H, the truth against private answers: eleven of its queries, as near to their text as may be.

    pip install tpchgen-cli
    python -m benchmarks tpch --scale 1

The data come from `tpchgen-cli`. The same text is asked of DuckDB and of the engine; what differs
from TPC-H's text is said beside each query.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import duckdb

from benchmarks.seeded import SeededWords
from probe_sql.answer import Answer
from probe_sql.database import Database
from probe_sql.ledger import Ledger
from probe_sql.policy import parse_policy
from probe_sql.session import Connection
from probe_sql.vault.backends import open_backend
from probe_sql.vault.noise import Sampler

SEED = 7
TABLES = ("customer", "lineitem", "nation", "orders", "part", "region", "supplier")
# What an owner declares beside TPC-H's tables: private rows that belong together, as one table.
OWNER = """
CREATE TABLE sales AS SELECT l_orderkey, l_suppkey, l_partkey, l_quantity, l_extendedprice,
    l_discount, l_shipdate, l_commitdate, l_receiptdate, l_shipmode, o_orderdate, o_orderpriority,
    o_shippriority, c_nationkey, c_mktsegment
  FROM lineitem JOIN orders ON o_orderkey = l_orderkey JOIN customer ON c_custkey = o_custkey;
CREATE TABLE late AS SELECT o_orderpriority, o_orderdate, o_orderkey IN
    (SELECT l_orderkey FROM lineitem WHERE l_commitdate < l_receiptdate) AS o_late FROM orders;
CREATE TABLE callers AS SELECT substring(c_phone, 1, 2) AS cntrycode, c_acctbal,
    c_custkey IN (SELECT o_custkey FROM orders) AS c_ordered FROM customer;
"""
POLICY = """
[budget]
epsilon = 1000.0
per_query = 1.0
[tables.lineitem]
rows_per_group = 100000
[tables.lineitem.columns]
l_suppkey = { keys = { table = "supplier", column = "s_suppkey" } }
l_partkey = {}
l_quantity = { bounds = [1, 50] }
l_extendedprice = { bounds = [0, 105000] }
l_discount = { bounds = [0, 0.1] }
l_tax = { bounds = [0, 0.08] }
l_returnflag = { keys = ["A", "N", "R"] }
l_linestatus = { keys = ["F", "O"] }
l_shipdate = {}
[tables.sales]
rows_per_group = 100000
[tables.sales.columns]
l_suppkey = {}
l_partkey = {}
l_quantity = { bounds = [1, 50] }
l_extendedprice = { bounds = [0, 105000] }
l_discount = { bounds = [0, 0.1] }
l_shipdate = { keys = { dates = ["1992-01-01", "1998-12-31"] } }
l_commitdate = {}
l_receiptdate = {}
l_shipmode = { keys = ["AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"] }
o_orderdate = { keys = { dates = ["1992-01-01", "1998-12-31"] } }
o_orderpriority = {}
o_shippriority = { keys = [0] }
c_nationkey = { keys = { table = "nation", column = "n_nationkey" } }
c_mktsegment = {}
[tables.late]
rows_per_group = 10000
[tables.late.columns]
o_orderpriority = { keys = ["1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW"] }
o_orderdate = {}
o_late = {}
[tables.callers]
rows_per_group = 1000
[tables.callers.columns]
cntrycode = { keys = ["13", "17", "18", "23", "29", "30", "31"] }
c_acctbal = { bounds = [-1000, 10000] }
c_ordered = {}
[public.nation]
key = ["n_nationkey"]
columns = { n_nationkey = {}, n_name = {}, n_regionkey = {} }
[public.region]
key = ["r_regionkey"]
columns = { r_regionkey = {}, r_name = {} }
[public.supplier]
key = ["s_suppkey"]
columns = { s_suppkey = {}, s_name = {}, s_nationkey = {} }
[public.part]
key = ["p_partkey"]
columns = { p_partkey = {}, p_type = {} }
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, what was changed of TPC-H's text and why; `keys` columns name a row."""

    name: str
    keys: int
    changed: str
    sql: str


QUERIES = (
    Asked("Q1", 2, "nothing",
        "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, "
        "sum(l_extendedprice) AS sum_base_price, "
        "sum(l_extendedprice * (1 - l_discount)) AS sum_disc_price, "
        "sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge, "
        "avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, "
        "avg(l_discount) AS avg_disc, count(*) AS count_order FROM lineitem "
        "WHERE l_shipdate <= date '1998-12-01' - interval '90' day "
        "GROUP BY l_returnflag, l_linestatus ORDER BY l_returnflag, l_linestatus"),
    Asked("Q3", 2, "by day instead of by order: an order is somebody's own record; "
        "the three private tables are one, as the owner declares it",
        "SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority "
        "FROM sales WHERE c_mktsegment = 'BUILDING' AND o_orderdate < date '1995-03-15' "
        "AND l_shipdate > date '1995-03-15' GROUP BY o_orderdate, o_shippriority "
        "ORDER BY revenue DESC, o_orderdate LIMIT 10"),
    Asked("Q4", 1, "EXISTS over a second private table is a column that the owner computes",
        "SELECT o_orderpriority, count(*) AS order_count FROM late "
        "WHERE o_orderdate >= date '1993-07-01' "
        "AND o_orderdate < date '1993-07-01' + interval '3' month AND o_late "
        "GROUP BY o_orderpriority ORDER BY o_orderpriority"),
    Asked("Q5", 1, "the private tables are one; HAVING names the region, so that other nations are "
        "not listed with noise",
        "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue "
        "FROM sales, supplier, nation, region WHERE l_suppkey = s_suppkey "
        "AND c_nationkey = s_nationkey AND c_nationkey = n_nationkey AND n_regionkey = r_regionkey "
        "AND o_orderdate >= date '1994-01-01' "
        "AND o_orderdate < date '1994-01-01' + interval '1' year "
        "GROUP BY n_nationkey, n_name, r_name HAVING r_name = 'ASIA' ORDER BY revenue DESC"),
    Asked("Q6", 0, "nothing",
        "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem "
        "WHERE l_shipdate >= date '1994-01-01' "
        "AND l_shipdate < date '1994-01-01' + interval '1' year "
        "AND l_discount BETWEEN 0.06 - 0.01 AND 0.06 + 0.01 AND l_quantity < 24"),
    Asked("Q7", 3, "the private tables are one; HAVING names nations and years, as WHERE does",
        "SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue FROM ("
        "SELECT n1.n_name AS supp_nation, n2.n_name AS cust_nation, "
        "extract(year FROM l_shipdate) AS l_year, l_extendedprice * (1 - l_discount) AS volume "
        "FROM supplier, sales, nation n1, nation n2 WHERE s_suppkey = l_suppkey "
        "AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey "
        "AND l_shipdate BETWEEN date '1995-01-01' AND date '1996-12-31') AS shipping "
        "GROUP BY supp_nation, cust_nation, l_year HAVING l_year IN (1995, 1996) "
        "AND ((supp_nation = 'FRANCE' AND cust_nation = 'GERMANY') "
        "OR (supp_nation = 'GERMANY' AND cust_nation = 'FRANCE')) "
        "ORDER BY supp_nation, cust_nation, l_year"),
    Asked("Q12", 1, "the private tables are one; HAVING names the modes, as WHERE does",
        "SELECT l_shipmode, sum(CASE WHEN o_orderpriority = '1-URGENT' "
        "OR o_orderpriority = '2-HIGH' THEN 1 ELSE 0 END) AS high_line_count, "
        "sum(CASE WHEN o_orderpriority <> '1-URGENT' AND o_orderpriority <> '2-HIGH' "
        "THEN 1 ELSE 0 END) AS low_line_count FROM sales WHERE l_shipmode IN ('MAIL', 'SHIP') "
        "AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate "
        "AND l_receiptdate >= date '1994-01-01' "
        "AND l_receiptdate < date '1994-01-01' + interval '1' year "
        "GROUP BY l_shipmode HAVING l_shipmode IN ('MAIL', 'SHIP') ORDER BY l_shipmode"),
    Asked("Q14", 0, "nothing",
        "SELECT 100.00 * sum(CASE WHEN p_type LIKE 'PROMO%' "
        "THEN l_extendedprice * (1 - l_discount) ELSE 0 END) "
        "/ sum(l_extendedprice * (1 - l_discount)) AS promo_revenue "
        "FROM lineitem, part WHERE l_partkey = p_partkey AND l_shipdate >= date '1995-09-01' "
        "AND l_shipdate < date '1995-09-01' + interval '1' month"),
    Asked("Q15", 2, "the view is a CTE; the rest as it is. The largest of noisy sums is too large "
        "on average",
        "WITH revenue AS (SELECT l_suppkey AS supplier_no, "
        "sum(l_extendedprice * (1 - l_discount)) AS total_revenue FROM lineitem "
        "WHERE l_shipdate >= date '1996-01-01' "
        "AND l_shipdate < date '1996-01-01' + interval '3' month GROUP BY l_suppkey) "
        "SELECT s_suppkey, s_name, total_revenue FROM supplier, revenue "
        "WHERE s_suppkey = supplier_no "
        "AND total_revenue = (SELECT max(total_revenue) FROM revenue) ORDER BY s_suppkey"),
    Asked("Q18", 1, "by nation, above the average nation, instead of by order and above 300: what "
        "one order holds is what is protected",
        "SELECT n_name, sum(l_quantity) AS quantity FROM sales, nation "
        "WHERE c_nationkey = n_nationkey GROUP BY n_name HAVING sum(l_quantity) > {quantity} "
        "ORDER BY n_name"),
    Asked("Q22", 1, "NOT EXISTS over a second private table, and the code of a phone number, are "
        "columns that the owner computes; the average is a block of its own",
        "SELECT cntrycode, count(*) AS numcust, sum(c_acctbal) AS totacctbal FROM callers "
        "WHERE cntrycode IN ('13', '31', '23', '29', '30', '18', '17') AND c_acctbal > "
        "(SELECT avg(c_acctbal) FROM callers WHERE c_acctbal > 0.00 "
        "AND cntrycode IN ('13', '31', '23', '29', '30', '18', '17')) AND NOT c_ordered "
        "GROUP BY cntrycode ORDER BY cntrycode"),
)  # fmt: skip


def generate(folder: Path, scale: float) -> None:
    """The tables of TPC-H as Parquet files; those that are there already are kept."""
    if all((folder / f"{name}.parquet").exists() for name in TABLES):
        return
    beside = Path(sys.executable).parent / "tpchgen-cli"
    program = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if program is None:
        raise SystemExit("tpchgen-cli is missing: pip install tpchgen-cli")
    subprocess.run(
        [program, "parquet", "-s", f"{scale:g}", f"--output-dir={folder}"],
        check=True,
        capture_output=True,
    )


def build(folder: Path, place: Path) -> None:
    """Make a DuckDB database with TPC-H's tables and the owner's."""
    with duckdb.connect(str(place)) as db:
        for name in TABLES:
            db.execute(
                f"CREATE TABLE {name} AS SELECT * FROM read_parquet(?)",
                [str(folder / f"{name}.parquet")],
            )
        db.execute(OWNER)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A private answer beside the truth."""

    asked: Asked
    sql: str
    true: list[tuple[Any, ...]]
    answer: Answer
    errors: list[float]  # relative, of every value of a row that both have
    seconds: tuple[float, float]  # of DuckDB's and of the engine's

    @property
    def rows(self) -> str:
        """How many rows there are, and how many of them both have."""
        both = len(
            _keyed(self.true, self.asked.keys, self._places()).keys()
            & _keyed(self.answer.rows, self.asked.keys, self._places()).keys()
        )
        return f"{len(self.true)} / {len(self.answer.rows)} / {both}"

    def _places(self) -> list[int]:
        return _key_places(self.true)


def _key_places(rows: Sequence[tuple[Any, ...]]) -> list[int]:
    """The columns that name a row: all that are no measured numbers."""
    first = rows[0] if rows else ()
    return [i for i, value in enumerate(first) if not isinstance(value, float | Decimal)]


def _keyed(
    rows: Sequence[tuple[Any, ...]], keys: int, places: Sequence[int]
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    chosen = list(places)[:keys]
    return {tuple(row[i] for i in chosen): row for row in rows}


def compare(asked: Asked, sql: str, engine: Connection, side: duckdb.DuckDBPyConnection) -> Outcome:
    """Ask one query of both."""
    start = time.process_time()
    true = side.execute(sql).fetchall()
    middle = time.process_time()
    answer = engine.sql(sql, on_exhausted="mark")  # what is open at the end of epsilon is marked
    assert isinstance(answer, Answer)
    if answer.status != "answered":
        raise SystemExit(f"{asked.name} was denied: {answer}")
    seconds = middle - start, time.process_time() - middle
    places = _key_places(true)[: asked.keys]
    exact, noisy = (_keyed(rows, asked.keys, places) for rows in (true, answer.rows))
    errors = [
        abs(float(b) - float(a)) / max(abs(float(a)), 1e-9)
        for key in exact.keys() & noisy.keys()
        for i, (a, b) in enumerate(zip(exact[key], noisy[key], strict=True))
        if i not in places and a is not None and b is not None
    ]
    return Outcome(asked, sql, true, answer, errors, seconds)


def run(folder: Path, scale: float, workplace: Path) -> list[Outcome]:
    """All queries, at epsilon 1 each; the database and its ledger are made in `workplace`."""
    generate(folder, scale)
    place = workplace / "tpch.duckdb"
    build(folder, place)
    policy = parse_policy(POLICY)
    backend = open_backend(place, policy)
    typed = policy.with_types(backend.schemas())
    ledger = workplace / "tpch.ledger"
    book = Ledger.open(ledger, budget=typed.budget, identity=str(ledger))
    database = Database(backend, typed, book, Sampler(SeededWords(SEED)))
    found = []
    with (
        Connection(database, owner=True) as engine,
        duckdb.connect(str(place), read_only=True) as side,
    ):
        usual = side.execute("SELECT sum(l_quantity) / 25 FROM lineitem").fetchall()[0][0]
        for asked in QUERIES:
            sql = asked.sql.replace("{quantity}", f"{int(usual)}")
            found.append(compare(asked, sql, engine, side))
    return found


def report(found: Sequence[Outcome]) -> str:
    """The table, as Markdown."""
    lines = [
        "| query | rows: true / private / both | epsilon | relative error: median, largest | "
        "what was changed, and why |",
        "|---|---|---|---|---|",
    ]
    for one in found:
        errors = "none shown"
        if one.errors:
            errors = f"{100 * median(one.errors):.2g} %, {100 * max(one.errors):.2g} %"
        epsilon = f"{one.answer.privacy.epsilon:.3g}"
        cells = (one.asked.name, one.rows, epsilon, errors, one.asked.changed)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Ask all, and print the table; with --show also both answers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks tpch", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="the scale factor of TPC-H")
    parser.add_argument("--data", type=Path, help="a folder for the data, kept")
    parser.add_argument("--show", action="store_true", help="print both answers of each query")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as empty:
        folder = Path(empty) if options.data is None else options.data
        folder.mkdir(parents=True, exist_ok=True)
        found = run(folder, options.scale, Path(empty))
    print(report(found))
    for one in found if options.show else ():
        print(f"\n{one.asked.name}\n{one.sql}")
        for row in one.true[:10]:
            print("  true   ", row)
        for row, margins in zip(one.answer.rows[:10], one.answer.margins[:10], strict=True):
            print("  private", row, "+-", margins)
    return 0


if __name__ == "__main__":
    sys.exit(main())
