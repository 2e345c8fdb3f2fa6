"""What is taken apart, rewritten and put in means what was written: plain DuckDB's answer comes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from probe_sql import Answer
from probe_sql.errors import Refused, SqlError
from probe_sql.session import Connection, connect
from tests.session.meaning import Exact, Queries, build, table

pytestmark = pytest.mark.service  # processes are started

# Found by the random queries below and by hand: each gave another answer once, or was refused.
NONE = "(SELECT max(beds) FROM wards WHERE beds > 1000)"  # NULL
COUNTED = "SELECT lvl, count(*) AS n FROM stays GROUP BY lvl HAVING "
ROWS = "SELECT count(*) FROM stays WHERE "
GROUPS = (
    # NOT IN a list with NULL holds nowhere; NOT of AND where the other part is false does.
    "count(*) NOT IN (SELECT beds FROM wards)",
    "count(*) NOT IN (SELECT beds FROM wards) OR count(*) > 200",
    f"NOT (count(*) < 10 AND count(*) > {NONE})", f"NOT (count(*) < 200 OR count(*) > {NONE})",
    f"NOT (count(*) < 200 AND NOT count(*) > {NONE})", f"count(*) NOT BETWEEN {NONE} AND 200",
    f"count(*) BETWEEN {NONE} AND 200", f"count(*) NOT BETWEEN 300 AND {NONE}",
    # What stands beside a subquery in a list was dropped, and so was a list beside one.
    f"count(*) IN ({NONE}, 180)", f"count(*) NOT IN ({NONE}, 180)",
    "count(*) IN ((SELECT max(beds) * 3 FROM wards), 360)",
    "(SELECT max(beds) FROM wards) NOT IN (3, 5)",
    # A default for NULL was lost with it.
    f"sum(CASE WHEN pain > {NONE} THEN 1 ELSE 3 END) > 600", f"count(*) > coalesce({NONE}, 200)",
    f"count(*) > coalesce(2 * {NONE}, 200)",
)  # fmt: skip
TOTALS = (
    # NULL is in a list without rows no more than any number is.
    f"{ROWS}pain NOT IN (SELECT beds FROM wards WHERE beds > 1000)",
    f"{ROWS}pain IN (SELECT beds FROM wards WHERE beds > 1000) IS NULL",
    f"{ROWS}pain IN ((SELECT min(beds) FROM wards), 5)",
    f"{ROWS}pain NOT IN (5, (SELECT min(beds) FROM wards))",
    f"{ROWS}(SELECT max(beds) FROM wards) IN (60, 7)", f"{ROWS}pain > coalesce({NONE}, 2)",
    f"SELECT count(*) * coalesce({NONE}, 2) FROM stays",
    f"SELECT sum(CASE WHEN pain > {NONE} OR died THEN 1 ELSE 0 END) FROM stays",
    f"SELECT count(*) FILTER (WHERE NOT pain > {NONE} OR died) FROM stays",
    "SELECT count(*) * coalesce((SELECT max(beds) FROM wards), 2) FROM stays",
)  # fmt: skip
MENDED = (
    " UNION ALL ".join(
        f"SELECT {i} AS t, lvl, n FROM (SELECT lvl, count(*) AS n FROM stays GROUP BY lvl"
        f" HAVING {having}) q{i}"
        for i, having in enumerate(GROUPS)
    ),
    " UNION ALL ".join(f"SELECT {i} AS t, n FROM ({one}) q{i}(n)" for i, one in enumerate(TOTALS)),
    # A correlated subquery with another one in it.
    "SELECT w.ward, (SELECT count(*) FROM stays s WHERE s.ward = w.ward AND pain NOT IN"
    " (SELECT beds FROM wards WHERE beds > 4)) AS n FROM wards w",
    "SELECT ward FROM wards w WHERE NOT EXISTS (SELECT 1 FROM visits s WHERE s.ward = w.ward AND"
    " ward NOT IN (SELECT ward FROM wards WHERE beds > 4))",
)


@pytest.fixture(scope="module")
def exact() -> Exact:
    return Exact()


@pytest.fixture(scope="module")
def private(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder = tmp_path_factory.mktemp("meaning")
    with connect(build(folder), folder / "policy.toml") as db:
        yield db


def same(sql: str, exact: Exact, private: Connection) -> None:
    """The private answer is plain DuckDB's."""
    answer = private.sql(sql)
    assert isinstance(answer, Answer)
    assert answer.status == "answered", str(answer)
    assert table(answer.raw or answer.rows) == table(exact.plain.execute(sql).fetchall()), sql


@pytest.mark.parametrize("sql", MENDED, ids=range(len(MENDED)))
def test_the_answer_is_duckdb_s(sql: str, exact: Exact, private: Connection) -> None:
    same(sql, exact, private)


def taken_apart(exact: Exact, seed: int, count: int) -> int:
    """Compare random queries with their blocks put together; says how many could be compared."""
    queries, compared = Queries(seed), 0
    for _ in range(count):
        sql = queries.query()
        script = exact.apart(sql)
        if script is not None:
            rows, alike = exact.rows(script)
            compared += alike
            if alike:
                assert table(rows) == table(exact.plain.execute(sql).fetchall()), sql
    return compared


def asked(exact: Exact, private: Connection, seed: int, count: int) -> None:
    """Compare random queries, of blocks that see all that SQL does, with private answers.

    Some are refused by name, as documented (OR of a key with an aggregate, a value that is NULL):
    these are not counted, and are few.
    """
    queries, refused, wanted = Queries(seed), 0, count
    while count:
        sql = queries.query()
        script = exact.apart(sql)
        if script is None or not exact.rows(script)[1]:
            continue
        try:
            same(sql, exact, private)
        except (Refused, SqlError):
            refused += 1
        else:
            count -= 1
    assert refused <= 1 + wanted // 10


def test_blocks_put_together_are_the_query(exact: Exact) -> None:
    assert taken_apart(exact, 1, 20) >= 5


def test_random_queries_are_answered_as_by_duckdb(exact: Exact, private: Connection) -> None:
    asked(exact, private, 2, 2)


@pytest.mark.slow
def test_many_blocks_put_together_are_the_query(exact: Exact) -> None:
    assert taken_apart(exact, 3, 1500) >= 700


@pytest.mark.slow
def test_many_random_queries_are_answered_as_by_duckdb(exact: Exact, private: Connection) -> None:
    asked(exact, private, 4, 250)


def test_a_query_that_means_something_else_is_seen(exact: Exact) -> None:
    """The negative control: what was dropped in a list, dropped again."""
    script = exact.apart("SELECT n FROM (SELECT count(*) AS n FROM stays WHERE pain IN (3, 5)) q")
    assert script is not None
    plain = "SELECT n FROM (SELECT count(*) AS n FROM stays WHERE pain IN (3)) q"
    assert table(exact.rows(script)[0]) != table(exact.plain.execute(plain).fetchall())
