"""What is reshaped means what was written: with much epsilon the answer is DuckDB's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from benchmarks.seeded import SeededWords
from probe_sql import Answer
from probe_sql.errors import ProbeError
from probe_sql.session import Connection, Outline
from probe_sql.vault.noise import Sampler
from tests.audit.workbench import opened
from tests.examples.policies import one_table

pytestmark = pytest.mark.service  # processes are started

POLICY = one_table(
    "stays",
    """
ward = { type = "VARCHAR", keys = { table = "wards", column = "ward" } }
sex = { type = "VARCHAR", keys = ["F", "M"] }
age = { type = "INTEGER", bounds = [0, 120] }
died = { type = "BOOLEAN", keys = [true, false] }
seen = { type = "TIMESTAMP", keys = { dates = ["2024-01-01", "2024-03-31"] } }
""",
    rows=20,
    epsilon=1e6,
    per_query=900.0,
    more="""
[defaults]
fnr = 0.000001
fdr = 0.000001
[reuse]
answers = "none"
[public.wards]
key = ["ward"]
[public.wards.columns]
ward = "VARCHAR"
beds = { type = "INTEGER", bounds = [0, 100] }
""",
)


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reshaped")
    (folder / "policy.toml").write_text(POLICY)
    with duckdb.connect(str(folder / "clinic.duckdb")) as db:
        db.execute(
            "CREATE TABLE wards AS SELECT * FROM (VALUES ('A', 10), ('B', 20), ('C', 20), "
            "('D', NULL)) t(ward, beds)"
        )
        db.execute(
            "CREATE TABLE stays AS SELECT ['A','B','C'][1 + i % 3] AS ward, "
            "CASE WHEN i % 3 = 2 OR i % 2 = 0 THEN 'F' ELSE 'M' END AS sex, "
            "20 + (i * i) % 60 AS age, i % 6 = 1 AS died, "
            "TIMESTAMP '2024-01-01 08:00:00' + to_days(i % 80) AS seen FROM range(120) r(i)"
        )
    return folder


@pytest.fixture(scope="module")
def private(clinic: Path) -> Iterator[Connection]:
    """Its noise is the same in each run: a value beside HAVING may be six off once in a while."""
    sampler = Sampler(SeededWords(3))
    with opened(clinic / "clinic.duckdb", clinic / "policy.toml", sampler) as db:
        yield db


SAME = [
    "SELECT DISTINCT sex FROM stays WHERE ward = 'C'",
    "SELECT DISTINCT ward, sex FROM stays",
    "SELECT count(age) AS n FROM (SELECT DISTINCT age FROM stays WHERE died) t",
    "SELECT count(*) AS n FROM (SELECT DISTINCT age FROM stays WHERE age IS NOT NULL AND died) t",
    "SELECT count(sex) AS n FROM (SELECT DISTINCT sex FROM stays) WHERE sex <> 'F'",
    "SELECT count(sex) AS n FROM (SELECT DISTINCT sex FROM stays OFFSET 1)",
    "SELECT ward FROM stays WHERE sex = 'M' INTERSECT SELECT ward FROM stays WHERE died",
    "SELECT ward FROM wards EXCEPT SELECT ward FROM stays",
    "SELECT ward FROM stays WHERE died UNION SELECT ward FROM wards WHERE beds = 10",
    "SELECT ward FROM wards WHERE ward NOT IN (SELECT ward FROM stays WHERE sex = 'M')",
    "SELECT w.ward FROM wards w WHERE EXISTS (SELECT * FROM stays s WHERE s.ward = w.ward AND"
    " died)",
    "SELECT w.ward FROM wards w WHERE EXISTS (SELECT 1 FROM stays s WHERE s.ward = w.ward LIMIT 1)",
    "SELECT w.ward FROM wards w WHERE NOT EXISTS (SELECT 1 FROM stays s WHERE w.ward = s.ward)",
    "SELECT w.ward, (SELECT sum(age) FROM stays s WHERE s.ward = w.ward AND sex = 'F') AS n"
    " FROM wards w WHERE w.beds IS NOT NULL",
    "SELECT w.ward, (SELECT count(*) FROM stays s WHERE s.ward = w.ward) AS n FROM wards w",
    "SELECT w.beds, count(s.age) AS n FROM wards w LEFT JOIN stays s ON s.ward = w.ward"
    " WHERE w.beds > 0 GROUP BY w.beds",
    "SELECT w.ward, count(s.age) AS n FROM wards w LEFT JOIN stays s ON s.ward = w.ward AND s.died"
    " GROUP BY w.ward HAVING count(s.age) < 15",
    "SELECT w.ward, count(s.age BETWEEN w.beds AND 90 OR s.died) AS n FROM wards w"
    " LEFT JOIN stays s ON s.ward = w.ward WHERE (s.age > 25 AND w.beds > 0) GROUP BY w.ward"
    " HAVING count(s.age) > 0",
    "SELECT w.ward, sum(CASE WHEN s.age > 30 THEN 1 ELSE 0 END) AS n FROM stays s"
    " RIGHT JOIN wards w ON s.ward = w.ward WHERE s.sex = 'F' GROUP BY w.ward HAVING"
    " count(s.age) > 0",
    "SELECT ward, sex, count(*) AS n, sum(age) AS s FROM stays WHERE ward <> 'C'"
    " GROUP BY ROLLUP (ward, sex)",
    "SELECT ward, sex, count(*) AS n, grouping(ward, sex) AS g FROM stays WHERE ward <> 'C'"
    " GROUP BY CUBE (ward, sex) HAVING count(*) > 30",
    "SELECT died, sex, count(*) AS n FROM stays GROUP BY GROUPING SETS ((died, sex), (sex), ())"
    " HAVING count(*) > 25",
    "SELECT ward, count(*) AS n FROM stays GROUP BY GROUPING SETS (1, ()) ORDER BY n DESC LIMIT 2",
    "SELECT ward FROM stays GROUP BY ward HAVING stddev(age) > 16",
    "SELECT ward, CASE WHEN count(*) > 100 THEN 'many' ELSE 'few' END AS size FROM stays"
    " GROUP BY ward HAVING count(*) > 0",
    "SELECT ward, avg(age) > 50 AS old FROM stays GROUP BY ward HAVING sqrt(sum(age)) > 3",
    "SELECT count(*) AS n FROM stays HAVING count(*) > 100",
    "SELECT count(*) AS n FROM stays HAVING count(*) > 200",
    "SELECT sum(died) AS n, sum(age > 50) AS o FROM stays",
    "SELECT a, n FROM (SELECT ward, count(*) FROM stays GROUP BY ward) AS q (a, n)",
    "SELECT count(*) AS n FROM stays WHERE seen LIKE '2024-02%' AND age > '30' AND died = 0",
    "SELECT substr(seen, 1, 7) AS month, count(*) AS n FROM stays GROUP BY month",
    "SELECT sum(trunc(age / 20)) AS bands, sum(power(age, 2)) AS s FROM stays",
]


def ordered(rows: Any, sql: str) -> list[tuple[Any, ...]]:
    """Rows in one order, by their texts; without groups without rows, which SQL does not list."""
    lists = "GROUP BY" in sql and "LEFT JOIN" not in sql and "grouping" not in sql
    kept = [tuple(row) for row in rows if not (lists and 0 in row[1:])]
    texts = [([str(c) for c in row if not isinstance(c, int | float)], str(row)) for row in kept]
    return [kept[index] for _, index in sorted(zip(texts, range(len(kept)), strict=True))]


def alike(found: Any, exact: Any) -> bool:
    """Equal, or a number as near as noise of this size leaves it."""
    if isinstance(found, bool) or not isinstance(found, int | float):
        return bool(found == exact)
    return exact is not None and abs(found - float(exact)) <= 0.02 * abs(exact) + 2.5


@pytest.mark.parametrize("sql", SAME)
def test_the_answer_is_that_of_the_text(sql: str, clinic: Path, private: Connection) -> None:
    plain = sql.replace("seen LIKE", "CAST(seen AS VARCHAR) LIKE").replace(
        "substr(seen", "substr(CAST(seen AS VARCHAR)"
    )
    with duckdb.connect(str(clinic / "clinic.duckdb"), read_only=True) as db:
        exact = db.execute(plain).fetchall()
    answer = private.sql(sql)
    assert isinstance(answer, Answer)
    assert answer.status == "answered", str(answer)
    found, expected = ordered(answer.rows, sql), ordered(exact, sql)
    assert len(found) == len(expected), (found, expected)
    for row, other in zip(found, expected, strict=True):
        assert all(map(alike, row, other)), (row, other)


LEFT = "SELECT w.ward, {} AS n FROM wards w LEFT JOIN stays s ON s.ward = w.ward GROUP BY w.ward"


@pytest.mark.parametrize(("sql", "why"), [
    (LEFT.format("count(s.died AND w.beds > 100)"), "right of a LEFT JOIN"),  # FALSE for no row
    (LEFT.format("count(s.died OR w.beds > 0)"), "right of a LEFT JOIN"),
    (LEFT.format("count(w.beds BETWEEN s.age AND 0)"), "right of a LEFT JOIN"),
    (LEFT.format("sum(CASE WHEN s.died OR w.beds > 0 THEN 1 END)"), "right of a LEFT JOIN"),
    (LEFT.format("count(greatest(s.age, w.beds))"), "right of a LEFT JOIN"),
    (LEFT.format("count(concat_ws('-', s.sex, w.ward))"), "right of a LEFT JOIN"),
    ("SELECT w.ward FROM wards w WHERE EXISTS (SELECT 1 FROM stays s WHERE s.ward = w.ward"
     " LIMIT 0)", "LIMIT 0"),
    ("SELECT w.ward FROM wards w WHERE EXISTS (SELECT 1 FROM stays s WHERE s.ward = w.ward"
     " OFFSET 99)", "OFFSET"),
    ("SELECT (SELECT count(*) FROM stays s WHERE s.ward = w.ward LIMIT 0) AS n FROM wards w",
     "LIMIT 0"),
    ("SELECT ward FROM wards WHERE ward IN (SELECT ward FROM stays ORDER BY ward LIMIT 5)",
     "LIMIT of rows"),
    ("SELECT ward FROM wards WHERE ward IN (SELECT ward FROM stays OFFSET 50)", "OFFSET of rows"),
    ("SELECT count(age) FROM (SELECT DISTINCT age FROM stays) TABLESAMPLE 1 ROWS", "SAMPLE"),
    ("SELECT count(*) FROM (SELECT DISTINCT age FROM stays)", "counts NULL as one"),
    ("SELECT count(1) FROM (SELECT DISTINCT age FROM stays WHERE died OR age > 3)", "counts NULL"),
    ("SELECT count(*) FROM stays WHERE CONVERT(int, age / 8) = 2", "cuts 2.7 to 2"),
    ("SELECT count(*) FROM stays WHERE CONVERT(varchar(2), age) = '20'", "becomes [*]"),
])  # fmt: skip
def test_what_would_mean_something_else_is_refused(sql: str, why: str, private: Connection) -> None:
    with pytest.raises(ProbeError, match=why):
        private.explain(sql)


def test_each_set_is_charged_by_itself_and_what_is_not_bounded_is_said(
    private: Connection,
) -> None:
    before = private.budget.spent
    sets = private.sql(
        "SELECT ward, count(*) FROM stays GROUP BY CUBE (ward, sex) WITH ACCURACY (epsilon = 2)"
    )
    assert isinstance(sets, Answer)
    assert sets.blocks is not None
    assert len(sets.blocks) == 4
    assert [block.privacy.epsilon for _, block in sets.blocks] == [0.5] * 4
    assert private.budget.spent - before == pytest.approx(2)
    text = "SELECT ward FROM stays GROUP BY ward HAVING stddev(age) > 10"
    told = "stddev(age) > 10 is decided on values as they were measured"
    chosen = private.sql(text)
    assert isinstance(chosen, Answer)
    assert any(notice.startswith(told) for notice in chosen.notices)
    outline = private.explain(text)
    assert isinstance(outline, Outline)
    assert told in str(outline)
