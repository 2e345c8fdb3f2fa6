"""Refusals of the clause, of the text and of engines; and all refusals with their fixes."""

from __future__ import annotations

from typing import cast

from probe_sql.scan.engine import DUCKDB
from probe_sql.scan.postgres.engine import POSTGRESQL
from probe_sql.scan.spark.engine import SPARK
from tests.sql.fix_case import Case, ward, where
from tests.sql.fix_groups import AGGREGATES, GROUPED, SELECTED
from tests.sql.fix_tables import BLOCKS, FROM, HOSTILE, RELEASED, WHERE

TEN = ward("count(*) > 10")
CLAUSE = [
    Case(cast("str", TEN.encode()), TEN),  # bytes are no text
    Case(TEN + " WITH ACCURACY (fnr)", TEN + " WITH ACCURACY (fnr = 0.05, algorithm = 'probe')"),
    Case(TEN + " WITH ACCURACY (fnr = ward)", TEN + " WITH ACCURACY (epsilon = 1.0)"),
    Case("SELECT ward, count(*) AS n FROM stays GROUP BY ward WITH ACCURACY (margin = (n : 5))",
         "SELECT ward, count(*) AS n FROM stays GROUP BY ward WITH ACCURACY (margin = (n = 50))"),
    Case("SELECT ward, count(*) AS n FROM stays GROUP BY ward WITH ACCURACY (margin = (n = 5, n))",
         "SELECT ward, count(*) AS n FROM stays GROUP BY ward WITH ACCURACY (margin = (n = 50))"),
    Case(TEN + " WITH ACCURACY fnr = 0.05", TEN + " WITH ACCURACY (fnr = 0.05, fpr = 0.10)"),
    Case(TEN + " WITH ACCURACY (fnr = 0.1) LIMIT 3", TEN + " LIMIT 3 WITH ACCURACY (fnr = 0.1)"),
    Case(TEN + " WITH ACCURACY (fnrr = 0.1)", TEN + " WITH ACCURACY (fnr = 0.1)"),
    Case(TEN, TEN, options={"fnrr": 0.1}, then_options={"fnr": 0.1}),
    Case(TEN + " WITH ACCURACY (algorithm = 'guess')"),
    Case(TEN + " WITH ACCURACY (fnr = 0.7)"),
    Case(TEN + " WITH ACCURACY (steps = 2.5)"),
    Case(TEN + " WITH ACCURACY (fnr = 'x')"),
    Case(TEN + " WITH ACCURACY (fresh = 1)"),
    Case(TEN, TEN, options={"margin": {}}, then_options={"fnr": 0.1}),
    Case("SELECT ward, count(*) AS n FROM stays GROUP BY ward",
         "SELECT ward, count(*) AS n FROM stays GROUP BY ward",
         options={"margin": {}}, then_options={"margin": {"n": 50}}),
    Case("SELECT ward, count(*) AS n FROM stays GROUP BY ward WITH ACCURACY (margin = '5')",
         "SELECT ward, count(*) AS n FROM stays GROUP BY ward WITH ACCURACY (margin = '5%')"),
    Case(TEN, TEN, options={"ranges": 5}, then_options={"ranges": {"count(*)": 1000}}),
    Case(TEN, TEN, options={"ranges": {"count(*)": -5}},
         then_options={"ranges": {"count(*)": 1000}}),
    Case(TEN + " WITH ACCURACY (algorithm = 'probe', proof = 'strict')",
         TEN + " WITH ACCURACY (algorithm = 'ladder', proof = 'strict')"),
    Case(TEN + " WITH ACCURACY (algorithm = 'probe', proof = 'strict')",
         TEN + " WITH ACCURACY (algorithm = 'probe')"),
    Case(TEN + " WITH ACCURACY (algorithm = 'probe', fdr = 0.1)",
         TEN + " WITH ACCURACY (algorithm = 'ladder', fdr = 0.1)"),
    Case(TEN + " WITH ACCURACY (algorithm = 'probe', fdr = 0.1)",
         TEN + " WITH ACCURACY (algorithm = 'probe', fpr = 0.05)"),
    Case(TEN + " WITH ACCURACY (fdr = 0.1, fpr_scope = 'group')",
         TEN + " WITH ACCURACY (fpr = 0.05, fpr_scope = 'group')"),
    Case(TEN + " WITH ACCURACY (fdr = 0.1, fpr_scope = 'group')",
         TEN + " WITH ACCURACY (fdr = 0.1)"),
    Case(TEN + " WITH ACCURACY (algorithm = 'probe', spend = 'all')",
         TEN + " WITH ACCURACY (algorithm = 'ladder', spend = 'all')"),
    Case(TEN + " WITH ACCURACY (algorithm = 'probe', spend = 'all')",
         TEN + " WITH ACCURACY (algorithm = 'probe')"),
    Case(TEN + " WITH ACCURACY (fdr = 0.1, spend = 'all')", TEN + " WITH ACCURACY (spend = 'all')"),
    Case(TEN + " WITH ACCURACY (fdr = 0.1, spend = 'all')",
         TEN + " WITH ACCURACY (fdr = 0.1, spend = 'least')"),
    Case(TEN + " WITH ACCURACY (fpr = 0.6, primary = 'fpr')",
         TEN + " WITH ACCURACY (fpr = 0.1, primary = 'fpr')"),
    Case(TEN + " WITH ACCURACY (fpr = 0.6, primary = 'fpr')",
         TEN + " WITH ACCURACY (fpr = 0.6, primary = 'fnr')"),
]  # fmt: skip

TEXTS = [
    Case("", TEN),
    Case("EXPLAIN VERBOSE", "EXPLAIN VERBOSE " + TEN),
    Case("EXPLAIN ANALYZE " + TEN, "EXPLAIN " + TEN),
    Case("ATTACH 'other.db'", TEN),
    Case(ward("count(*) > AND"), TEN),
    Case(ward("count(*) * 1e300 > 1"), TEN),
    Case("SELECT ward FROM stays WHERE name = 'x GROUP BY ward",
         "SELECT ward FROM stays WHERE name = 'x' GROUP BY ward"),
    Case("SELECT `ward FROM stays", "SELECT `ward` FROM stays GROUP BY ward"),
    Case(TEN + "; DROP TABLE stays", TEN),
    Case(ward("count(*) > $1"), ward("count(*) > 10")),
    Case(ward("count(*) > :n"), ward("count(*) > 10")),
    Case("SELECT ward FROM stays GROUP BY ward UNION SELECT ward FROM stays GROUP BY ward",
         TEN, engine=DUCKDB),
    Case(where("abs(" * 60 + "age" + ")" * 60 + " > 1"), where("abs(age) > 1")),
    Case(where("(" * 120 + "TRUE" + ")" * 120), where("TRUE")),
    Case(where(" + ".join(["age"] * 300) + " > 1"), where("300 * age > 1")),
    Case(where("age IN (" + ", ".join(map(str, range(11000))) + ")"), where("age IN (1, 2)")),
    Case(where("age > ?"), where("age > ?"), parameters="7",
         then_parameters=[7]),
    Case(where("name = ?"), where("name = ?"), parameters=[object()], then_parameters=["x"]),
    Case(where("name = '\udc80'"), where("name = 'x'")),
]  # fmt: skip

ENGINES = [
    Case(where("name ILIKE 'a%'"), where("name LIKE 'a%' OR name LIKE 'A%'"), engine=SPARK),
    Case(where("name ILIKE 'a%'"), where("name LIKE 'a%' OR name LIKE 'A%'"), engine=POSTGRESQL),
    Case(where("ledger_no * 1.5 > 1"), where("CAST(ledger_no AS DECIMAL(15,2)) * 1.5 > 1"),
         engine=SPARK),
    Case(where("CAST(giant AS DOUBLE) > 1"), where("CAST(CAST(giant AS BIGINT) AS DOUBLE) > 1"),
         engine=SPARK),
    Case(where("CAST(weight AS DECIMAL(38,2)) > 1"), where("CAST(weight AS DECIMAL(18,2)) > 1"),
         engine=SPARK),
    Case(where("giant // 3 > 1"), where("CAST(giant AS BIGINT) // 3 > 1"), engine=SPARK),
    Case(where("substring(name, 3, -2) = 'a'"), where("substring(name, 1, 2) = 'a'"),
         engine=SPARK),
    Case(where("CASE WHEN urgent THEN ledger_no ELSE paid * 1.000000001 END > 1"),
         where("CASE WHEN urgent THEN CAST(ledger_no AS DECIMAL(15,2)) ELSE paid END > 1"),
         engine=SPARK),
    Case(where("round(" * 7 + "weight" + ", 1)" * 7 + " > 1"),
         where("round(weight, 1) > 1"), engine=SPARK),
    Case("SELECT ward, median(age), max(cost) FROM stays GROUP BY ward",
         "SELECT ward, median(age) FROM stays GROUP BY ward", engine=SPARK),
    Case(where("weight * weight > 1"),
         where("CAST(weight AS DECIMAL(9,2)) * CAST(weight AS DECIMAL(9,2)) > 1"),
         engine=POSTGRESQL),
    Case(where("weight + score > 1"),
         where("LEAST(GREATEST(weight, 1), 9) + LEAST(GREATEST(score, 1), 9) > 1"),
         engine=POSTGRESQL),
    Case(where("round(" * 7 + "weight" + ", 1)" * 7 + " > 1"), where("round(weight, 1) > 1"),
         engine=POSTGRESQL),
    Case(where("weight / score > 1"),
         where("CAST(weight AS DECIMAL(9,2)) / CAST(score AS DECIMAL(9,2)) > 1"),
         engine=POSTGRESQL),
    Case(where("CAST(weight AS DECIMAL(38,30)) > 1"), where("CAST(weight AS DECIMAL(9,2)) > 1"),
         engine=POSTGRESQL),
    Case(where("name LIKE '" + "".join(map(chr, range(33, 127))).replace("'", "''") + "'"),
         where("contains(name, 'a')"), engine=SPARK),
    Case(where("lower(name) = 'abc'"), where("name IN ('abc', 'ABC')"), engine=SPARK),
    Case(where("lower(name) = 'abc'"), where("name LIKE 'abc' OR name LIKE 'ABC'"),
         engine=POSTGRESQL),
]  # fmt: skip

CASES = [
    *AGGREGATES, *SELECTED, *GROUPED, *WHERE, *FROM, *HOSTILE, *RELEASED, *BLOCKS, *CLAUSE,
    *TEXTS, *ENGINES,
]  # fmt: skip
