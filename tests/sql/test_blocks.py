"""Queries taken apart: which SELECTs are private blocks, and what is left around them."""

from __future__ import annotations

import duckdb
import pytest

from probe_sql.errors import ProbeError, Refused
from probe_sql.sql.bind import bind_sql
from probe_sql.sql.blocks import take_apart
from probe_sql.sql.lineage import lineage
from probe_sql.sql.outer import OUTER_FUNCTIONS, check_outer, render_outer
from probe_sql.sql.reshape import reshaped
from probe_sql.sql.script import Script
from probe_sql.sql.text import read
from tests.examples.hospital import policy
from tests.sql.reference_outer import PAGE, written

POLICY = policy()
WARDS = "(SELECT ward, count(*) n FROM stays GROUP BY ward)"
RANKED = "SELECT ward, rank() OVER (ORDER BY count(*)) FROM stays"


def apart(sql: str) -> Script:
    script = take_apart(reshaped(read(sql), POLICY), POLICY)
    assert script is not None
    check_outer(script.outer, script.source, script.public)
    return script


def shape(sql: str) -> list[str]:
    """Blocks, holes and what is outside, a line each."""
    script = apart(sql)
    lines = []
    for block in script.blocks:
        lines.append(f"{block.number} {block.name}: {render_outer(block.select)}")
        lines += [f"  {hole.kind}: {render_outer(hole.query)}" for hole in block.holes]
    return [*lines, f"outside: {render_outer(script.outer)}"]


@pytest.mark.parametrize("sql", [
    "SELECT ward, count(*) FROM stays GROUP BY ward",
    "WITH w AS (SELECT * FROM stays WHERE age > 3) SELECT ward, count(*) FROM w GROUP BY ward",
    "SELECT ward FROM (SELECT ward FROM stays) q GROUP BY ward HAVING count(*) > 10",
    "SELECT s.ward FROM stays s JOIN wards w ON w.ward = s.ward GROUP BY s.ward",
    "SELECT * FROM stays", "SELECT age FROM (SELECT age FROM stays)",
])  # fmt: skip
def test_one_block_with_nothing_around_goes_its_own_way(sql: str) -> None:
    assert take_apart(reshaped(read(sql), POLICY), POLICY) is None


def test_blocks_of_a_join_become_tables() -> None:
    assert shape(
        "WITH busy AS (SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10),"
        " f AS (SELECT ward, avg(cost) AS c FROM stays GROUP BY ward),"
        " unused AS (SELECT count(*) FROM stays)"
        " SELECT w.beds, avg(f.c) FROM busy JOIN f USING (ward) JOIN wards w USING (ward)"
        " GROUP BY 1"
    ) == [
        "1 busy: SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) > 10",
        "2 f: SELECT ward, AVG(cost) AS c FROM stays GROUP BY ward",
        "outside: SELECT w.beds, AVG(f.c) FROM probe_sql_block_1 AS busy"
        " JOIN probe_sql_block_2 AS f USING (ward) JOIN wards AS w USING (ward) GROUP BY 1",
    ]


def test_a_subquery_in_a_block_is_asked_before_it() -> None:
    sql = "SELECT ward FROM stays GROUP BY ward HAVING avg(age) > (SELECT avg(age) FROM stays)"
    assert shape(sql) == [
        "1 block 1: SELECT AVG(age) FROM stays",
        "2 block 2: SELECT ward FROM stays GROUP BY ward HAVING AVG(age) > $probe_sql_hole_1",
        "  value: SELECT * FROM probe_sql_block_1",
        "outside: SELECT * FROM probe_sql_block_2",
    ]


def test_names_of_with_are_followed_into_a_block() -> None:
    assert shape(
        "WITH a AS (SELECT ward, count(*) n FROM stays GROUP BY ward),"
        " t AS (SELECT ward FROM a WHERE n > 5), old AS (SELECT * FROM stays WHERE age > 60)"
        " SELECT disease, count(*) FROM old WHERE ward IN (SELECT ward FROM t) GROUP BY disease"
    ) == [
        "1 a: SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward",
        "2 block 2: SELECT disease, COUNT(*) FROM (SELECT * FROM stays WHERE age > 60) AS old"
        " WHERE ward IN $probe_sql_hole_1 GROUP BY disease",
        "  list: SELECT ward FROM (SELECT ward FROM probe_sql_block_1 AS a WHERE n > 5) AS t",
        "outside: SELECT * FROM probe_sql_block_2",
    ]


def test_set_operations_and_scalars_take_blocks() -> None:
    assert shape("SELECT count(*) FROM stays UNION ALL SELECT count(*) FROM visitors")[2:] == [
        "outside: SELECT * FROM probe_sql_block_1 UNION ALL SELECT * FROM probe_sql_block_2"
    ]
    sql = "SELECT (SELECT count(*) FROM stays) - (SELECT count(*) FROM visitors) AS d"
    assert shape(sql)[2:] == [
        "outside: SELECT (SELECT * FROM probe_sql_block_1) - (SELECT * FROM probe_sql_block_2) AS d"
    ]


def test_a_block_read_twice_is_one_block() -> None:
    found = apart(
        "WITH a AS (SELECT ward, count(*) n FROM stays GROUP BY ward)"
        " SELECT x.ward FROM a x JOIN a y USING (ward) WHERE x.n > (SELECT avg(n) FROM a)"
    )
    assert [block.name for block in found.blocks] == ["a"]


def test_clauses_belong_to_the_block_in_their_parentheses() -> None:
    found = apart(
        "WITH a AS (SELECT count(*) n FROM stays WITH ACCURACY (epsilon = 0.1)),"
        " b AS (SELECT count(*) n FROM visitors) SELECT a.n + b.n FROM a, b"
        " WITH ACCURACY (epsilon = 0.5)"
    )
    assert [dict(block.options) for block in found.blocks] == [{"epsilon": 0.1}, {}]
    assert found.options == {"epsilon": 0.5}


@pytest.mark.parametrize(("sql", "what", "underlined"), [
    ("SELECT age FROM stays UNION ALL SELECT 1", "shows rows", "SELECT age FROM stays"),
    ("SELECT * FROM wards WHERE ward = (SELECT ward FROM stays)", "shows rows",
     "(SELECT ward FROM stays)"),
    ("WITH stays AS (SELECT 1 AS x) SELECT x FROM stays", "name of the private table", "stays"),
    ("WITH probe_sql_block_1 AS (SELECT 1 AS x) SELECT * FROM probe_sql_block_1", "engine's own",
     "probe_sql_block_1"),
    ("SELECT ward FROM stays WHERE EXISTS (SELECT 1 FROM wards) GROUP BY ward",
     "EXISTS (SELECT ...) is not supported", "EXISTS (SELECT 1 FROM wards)"),
    ("WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x FROM r) SELECT x FROM r", "recursive",
     "RECURSIVE"),
    ("WITH a AS (SELECT ward FROM wards WITH ACCURACY (fnr = 0.1)) SELECT * FROM a",
     "reads no private table", "WITH ACCURACY (fnr = 0.1)"),
    ("WITH a AS (SELECT ward, count(*) n FROM stays GROUP BY ward), b AS (SELECT ward FROM a)"
     " SELECT count(*) FROM stays JOIN b USING (ward)", "what was made of released values", "b"),
    ("SELECT x FROM nowhere", "there is no table 'nowhere'", "nowhere"),
    ("SELECT pg_sleep(10)", "the function pg_sleep is not allowed", "pg_sleep(10)"),
    ("SELECT * FROM read_csv('x.csv')", "FROM takes a table", "read_csv('x.csv')"),
    ("SELECT * FROM duckdb_settings()", "FROM takes a table", "duckdb_settings"),
    ("SELECT * FROM wards TABLESAMPLE 10%", "a table with SAMPLE", None),
    (f"SELECT * FROM {WARDS} a PIVOT (sum(n) FOR ward IN ('x', 'y'))",
     "a subquery with PIVOT is not", f"{WARDS} a PIVOT (sum(n) FOR ward IN ('x', 'y'))"),
    (f"SELECT * FROM {WARDS} a UNPIVOT (v FOR c IN (n, ward))",
     "a subquery with UNPIVOT is not", f"{WARDS} a UNPIVOT (v FOR c IN (n, ward))"),
    (f"SELECT * FROM {WARDS} a TABLESAMPLE 2 ROWS", "a subquery with SAMPLE", None),
    (f"SELECT * FROM wards p JOIN {WARDS} a TABLESAMPLE 1% ON p.ward = a.ward",
     "a subquery with SAMPLE", None),
    (f"SELECT count(*) FROM stays s JOIN {WARDS} a TABLESAMPLE 1% ON a.ward = s.ward",
     "a subquery with SAMPLE", None),
    (f"SELECT ward FROM stays GROUP BY ward HAVING count(*) > (SELECT max(n) FROM {WARDS} a"
     " TABLESAMPLE 1%)", "a subquery with SAMPLE", None),
    (f"SELECT * FROM ({WARDS} a(n, ward)) b", "alias with COLUMNS", "a(n, ward)"),
    ("SELECT ward, count(*) FROM ((SELECT ward, site FROM stays) a(site, ward)) b GROUP BY ward",
     "alias with COLUMNS", "a(site, ward)"),
    (f"{RANKED} GROUP BY ward USING SAMPLE 1%", "a sample is not supported", None),
    (f"{RANKED} GROUP BY ward WITH ROLLUP", "GROUP BY with ROLLUP", None),
    (f"{RANKED} GROUP BY ward FOR UPDATE", "FOR UPDATE is not supported", "FOR UPDATE"),
    ("SELECT getenv('HOME')", "the function getenv", "getenv('HOME')"),
    ("SELECT query('SELECT 1')", "the function query", "query('SELECT 1')"),
    ("SELECT current_setting('threads')", "the function current_setting", None),
    ("SELECT random(), now()", "is not allowed around private blocks", None),
    ("SELECT CAST('{}' AS JSON)", "the type JSON", None),
    ("SELECT beds FROM wards ORDER BY 1 FETCH FIRST 3 ROWS WITH TIES", "WITH TIES is not", None),
    ("SELECT beds FROM wards FETCH FIRST 30 PERCENT ROWS ONLY", "PERCENT of the rows is not", None),
    ("SELECT beds FROM other.wards", "other is no schema that can be named here", "other.wards"),
])  # fmt: skip
def test_refusals_name_the_reason_and_the_span(sql: str, what: str, underlined: str | None) -> None:
    with pytest.raises(ProbeError) as raised:
        apart(sql)
    assert what in str(raised.value)
    span = raised.value.span
    if underlined is not None:
        assert span is not None
        assert sql[span.start : span.end] == underlined


def test_what_hangs_on_a_block_in_from_stays_there() -> None:
    joined = f"wards p JOIN {WARDS} a JOIN wards z ON z.ward = a.ward ON p.ward = a.ward"
    assert shape(f"SELECT p.beds FROM {joined}")[-1] == (
        "outside: SELECT p.beds FROM wards AS p JOIN probe_sql_block_1 AS a"
        " JOIN wards AS z ON z.ward = a.ward ON p.ward = a.ward"
    )
    listed = f"WITH a(n, ward) AS {WARDS} SELECT count(*) FROM stays s JOIN a ON a.n = s.ward"
    assert shape(listed)[1] == (
        "2 block 2: SELECT COUNT(*) FROM stays AS s JOIN probe_sql_hole_1 AS a(n, ward)"
        " ON a.n = s.ward"
    )


def test_a_column_list_names_the_columns_in_their_order() -> None:
    sql = "SELECT ward, count(*) FROM (SELECT origin, ward FROM stays) a(b, ward) GROUP BY ward"
    assert bind_sql(sql, POLICY).keys[0].named.columns == [("t", "ward")]
    swapped = "SELECT ward, count(*) FROM (SELECT ward, age FROM stays) a(age, ward) GROUP BY ward"
    with pytest.raises(ProbeError, match="'age' has no declared keys"):
        bind_sql(swapped, POLICY)
    with pytest.raises(Refused, match="an alias with COLUMNS is not supported"):
        bind_sql("SELECT count(*) FROM (SELECT ward FROM stays) a(b, c)", POLICY)


def test_grouping_sets_are_blocks_of_their_own() -> None:
    sql = "SELECT ward, count(*) AS n FROM stays GROUP BY ROLLUP (ward) HAVING count(*) > 3"
    blocks = [render_outer(block.select) for block in apart(sql).blocks]
    assert blocks == [
        'SELECT ward AS "ward", COUNT(*) AS "n" FROM stays GROUP BY ward HAVING COUNT(*) > 3',
        'SELECT COUNT(*) AS "n" FROM stays',
    ]


def test_a_number_of_buckets_beyond_reading_is_not_written_out() -> None:
    sql = "SELECT floor(age * 1e300), count(*) FROM stays GROUP BY floor(age * 1e300)"
    with pytest.raises(Refused, match="far too many buckets") as raised:
        bind_sql(sql, POLICY)
    assert len(str(raised.value)) < 800


def test_a_query_of_very_many_blocks_is_refused() -> None:
    with pytest.raises(Refused, match="more than 32 private blocks"):
        apart(" UNION ALL ".join(f"SELECT {i}, count(*) FROM stays" for i in range(33)))


# --- where columns come from ---

TABLES = {
    "probe_sql_block_1": [("ward", False), ("n", True)],
    "probe_sql_block_2": [("ward", False), ("m", True)],
    "wards": [("ward", False), ("beds", False)],
}
JOINED = (
    "WITH a AS (SELECT ward, count(*) n FROM stays GROUP BY ward),"
    " b AS (SELECT ward, count(*) m FROM visitors GROUP BY ward) "
)


@pytest.mark.parametrize(("select", "kinds"), [
    ("SELECT * FROM a", "exact linear"),
    ("SELECT ward, n + 1, -n, n * 2.5, n / 4, round(n, 1), CAST(n AS DOUBLE) FROM a",
     "exact linear linear linear linear linear linear"),
    ("SELECT ward, a.n - b.m FROM a JOIN b USING (ward)", "exact linear"),
    ("SELECT * FROM a JOIN b USING (ward)", "exact linear linear"),
    ("SELECT a.n * b.m, a.n / b.m, n * beds, upper(ward), CAST(n AS INTEGER), n * n"
     " FROM a JOIN b USING (ward) JOIN wards USING (ward)",
     "derived derived derived exact derived derived"),
    ("SELECT ward, sum(n) FROM a GROUP BY ward", "exact linear"),
    ("SELECT sum(n), 2 * sum(n) + 1, sum(-n), sum(n / 2) FROM a", "linear linear linear linear"),
    ("SELECT beds > 3 AS big, sum(n) FROM a JOIN wards USING (ward) WHERE beds > 1 GROUP BY 1"
     " HAVING sum(n) > 3", "exact linear"),
    ("SELECT sum(n) - sum(m) FROM a JOIN b USING (ward)", "derived"),  # m is not summable
    ("SELECT sum(n) + n FROM a GROUP BY n", "derived"),
    ("SELECT n, sum(n) FROM a GROUP BY 1", "derived derived"),
    ("SELECT n > 5 AS k, sum(n) FROM a GROUP BY k", "derived derived"),
    ("SELECT sum(n) FROM a WHERE n > 5", "derived"),
    ("SELECT sum(a.n) FROM a JOIN b ON a.n > b.m", "derived"),
    ("SELECT sum(n) FROM a WHERE ward IN (SELECT ward FROM b WHERE m > 3)", "derived"),
    ("SELECT ward, sum(n) FROM a GROUP BY ROLLUP (ward)", "exact linear"),
    ("SELECT sum(n * n), sum(n + 1), sum(round(n)), avg(n), max(n) FROM a",
     "derived derived derived linear derived"),
    ("SELECT avg(n) - 3, avg(DISTINCT n), avg(n + 1) FROM a", "linear derived derived"),
    ("SELECT sum(n) FILTER (WHERE n > 3), sum(DISTINCT n) FROM a", "derived derived"),
    ("SELECT DISTINCT sum(n) FROM a", "derived"),
    ("SELECT k, sum(n) FROM (SELECT upper(ward) AS k, n FROM a) q GROUP BY k", "exact derived"),
    ("SELECT count(*) FROM a", "derived"), ("SELECT DISTINCT n FROM a", "derived"),
    ("SELECT n FROM a UNION ALL SELECT m FROM b", "linear"),
    ("SELECT ward, n FROM a UNION ALL SELECT NULL, sum(n) FROM a UNION ALL (SELECT ward, beds"
     " FROM wards LIMIT 3) ORDER BY 2 LIMIT 5", "exact linear"),
    ("SELECT ward, n FROM a UNION ALL SELECT ward, m * m FROM b", "exact derived"),
    ("SELECT ward FROM a UNION ALL SELECT ward FROM wards", "exact"),
    ("SELECT n FROM a UNION SELECT m FROM b", "derived"),
    ("SELECT n FROM a EXCEPT ALL SELECT m FROM b", "derived"),
    ("SELECT n FROM a UNION ALL BY NAME SELECT n FROM a", "derived"),
    ("SELECT n FROM a UNION ALL (SELECT m FROM b UNION SELECT 1)", "derived"),
    ("SELECT n FROM a UNION ALL (SELECT m FROM b UNION ALL SELECT 1 LIMIT 2)", "derived"),
    ("SELECT DISTINCT n FROM a UNION ALL SELECT m FROM b", "derived"),
    ("SELECT ward, rank() OVER (ORDER BY n) FROM a", "exact derived"),
    ("SELECT ward, n, sum(n) OVER () FROM a", "exact linear derived"),
    ("SELECT beds, (SELECT max(n) FROM a) FROM wards", "exact derived"),
    ("SELECT x.ward, x.k FROM (SELECT ward, n AS k FROM a) x", "exact derived"),
    ("SELECT count(*), max(beds) FROM wards", "exact exact"),
    ("SELECT greatest(n, 0), abs(n), CASE WHEN n > 0 THEN n ELSE 0 END FROM a",
     "derived derived derived"),
])  # fmt: skip
def test_margins_travel_where_arithmetic_is_linear(select: str, kinds: str) -> None:
    found = lineage(apart(JOINED + select).outer, TABLES, {"probe_sql_block_1": {1}})
    assert " ".join(origin.kind for origin in found.columns) == kinds


TOP = "top AS (SELECT ward FROM a WHERE n > 5) "


@pytest.mark.parametrize("shape", [
    "FROM a JOIN top USING (ward)", "FROM a LEFT JOIN top USING (ward)",
    "FROM top LEFT JOIN a USING (ward)", "FROM a JOIN top ON top.ward = a.ward", "FROM a, top",
    "FROM a SEMI JOIN top USING (ward)", "FROM a ANTI JOIN top USING (ward)",
    "FROM a, top WHERE a.ward = top.ward", "FROM a POSITIONAL JOIN top",
    "FROM a NATURAL JOIN a x", "FROM a ASOF JOIN b ON a.ward >= b.ward",
    "FROM a WHERE ward IN (SELECT ward FROM top)",
    "FROM a WHERE ward NOT IN (SELECT ward FROM top)",
    "FROM a WHERE EXISTS (SELECT 1 FROM top WHERE top.ward = a.ward)",
    "FROM a WHERE ward = (SELECT max(ward) FROM top)",
    "FROM a WHERE (SELECT count(*) FROM b WHERE b.ward = a.ward AND m > 3) > 0",
    "FROM a JOIN wards ON wards.ward IN (SELECT ward FROM top)",
    "FROM a JOIN (SELECT ward FROM top) q USING (ward)",
    "FROM a JOIN (WITH z AS (SELECT ward FROM top) SELECT * FROM z) q USING (ward)",
    "FROM a JOIN (SELECT wards.ward FROM wards JOIN top USING (ward)) q USING (ward)",
    "FROM a JOIN (SELECT ward FROM wards WHERE ward IN (SELECT ward FROM top)) q USING (ward)",
    "FROM a JOIN (SELECT ward FROM a ORDER BY n DESC LIMIT 3) q USING (ward)",
    "FROM a JOIN (SELECT ward FROM a ORDER BY n OFFSET 3) q USING (ward)",
    "FROM a JOIN (SELECT DISTINCT ON (ward) ward FROM a ORDER BY n) q USING (ward)",
    "FROM a JOIN (SELECT ward FROM a QUALIFY rank() OVER (ORDER BY n) < 3) q USING (ward)",
    "FROM a JOIN (SELECT ward FROM (SELECT ward, rank() OVER (ORDER BY n) AS r FROM a) z"
    " WHERE r < 3) q USING (ward)",
    "FROM a JOIN (SELECT ward FROM a GROUP BY ward HAVING sum(n) > 3) q USING (ward)",
    "FROM a JOIN (SELECT ward FROM top UNION SELECT ward FROM wards) q USING (ward)",
    "FROM a JOIN (SELECT ward FROM wards EXCEPT SELECT ward FROM top) q USING (ward)",
    "FROM a JOIN (SELECT ward FROM wards INTERSECT SELECT ward FROM top) q USING (ward)",
    "FROM a JOIN (SELECT max(ward) AS ward FROM top) q USING (ward)",
    "FROM a JOIN b USING (ward)",  # b does not show every group
    "FROM a JOIN a AS x(n, ward) USING (ward)", "FROM a JOIN a AS x(y, ward) USING (ward)",
    "FROM a, (SELECT 1 WHERE a.n > 5) q", "FROM a, (SELECT 1 WHERE n > 5) q",
    "FROM a, (SELECT ward FROM wards WHERE beds < a.n) q", "FROM a, (VALUES (a.n)) q(v)",
    "FROM a GROUP BY ROLLUP (n)", "FROM a GROUP BY CUBE (n)", "FROM a GROUP BY GROUPING SETS (n)",
    "FROM a WHERE rowid < 3", "FROM a QUALIFY row_number() OVER (ORDER BY n) < 3",
])  # fmt: skip
def test_sums_over_rows_that_noise_chose_have_no_margin(shape: str) -> None:
    """Nor have counts and averages of them, whatever carries the choice on."""
    shown = "SELECT sum(a.n), count(a.ward), avg(a.n), sum(a.n) / count(a.n), 2 * sum(a.n) - 1 "
    query = f"{JOINED}, {TOP}{shown}{shape}"
    for outer in lineage(apart(query).outer, TABLES, {"probe_sql_block_1": {1}}).columns:
        assert outer.kind == "derived"


@pytest.mark.parametrize("shape", [
    "FROM a", "FROM a WHERE ward <> 'X'", "FROM a JOIN wards USING (ward) WHERE beds > 3",
    "FROM a LEFT JOIN wards ON wards.ward = a.ward", "FROM a JOIN a AS x USING (ward)",
    "FROM a SEMI JOIN wards USING (ward)", "FROM a WHERE ward IN (SELECT ward FROM wards)",
    "FROM a JOIN (SELECT ward FROM wards WHERE beds > 3) q USING (ward)",
    "FROM a, (VALUES (1)) q(v)",
    "FROM a JOIN few USING (ward)", "FROM a GROUP BY ward HAVING sum(a.n) > 3 ORDER BY 1 LIMIT 2",
])  # fmt: skip
def test_sums_over_rows_that_public_facts_chose_have_one(shape: str) -> None:
    query = f"{JOINED}, few AS (SELECT ward FROM wards LIMIT 3) SELECT sum(a.n) {shape}"
    [origin] = lineage(apart(query).outer, TABLES, {"probe_sql_block_1": {1}}).columns
    assert origin.kind == "linear"


def test_a_count_of_public_rows_that_noise_chose_is_not_exact() -> None:
    for shape in (
        "FROM wards WHERE ward IN (SELECT ward FROM top)",
        "FROM (SELECT ward FROM top) q",
        "FROM wards SEMI JOIN top USING (ward)",
    ):
        query = f"{JOINED}, {TOP}SELECT count(*) {shape}"
        [origin] = lineage(apart(query).outer, TABLES).columns
        assert origin.kind == "derived"


def test_the_dialect_lists_the_functions_around_blocks() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert written(page) == page


def test_every_listed_function_is_one_of_duckdb() -> None:
    """But for those that its parser makes into something else."""
    found = duckdb.execute(
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions()"
    ).fetchall()
    made = {"coalesce", "ifnull", "grouping", "grouping_id", "isdistinctfrom", "!"}
    assert OUTER_FUNCTIONS - {name for (name,) in found} <= made
    tables = duckdb.execute(
        "SELECT DISTINCT lower(function_name) FROM duckdb_functions() WHERE function_type"
        " IN ('table', 'pragma', 'table_macro')"
    ).fetchall()
    assert OUTER_FUNCTIONS & {name for (name,) in tables} <= {"unnest", "repeat"}
