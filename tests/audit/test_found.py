"""What the audit found, each held by a test of its own."""

from __future__ import annotations

import pytest

from probe_sql.algorithms.ladder_levels import distance, tail
from probe_sql.answer import Answer
from probe_sql.errors import Refused, SqlError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import parse_policy
from probe_sql.session import Connection
from probe_sql.vault.exact import unsealed
from tests.audit.bench import in_memory
from tests.audit.test_sensitivity import check
from tests.audit.workbench import QuietSampler, opened
from tests.examples.extremes import AROUND
from tests.examples.policies import listed, one_table, public, within
from tests.examples.sources import build


@pytest.mark.parametrize("source", [
    "JOIN days ON days.at = rows.day", "LEFT JOIN days ON days.at = rows.tsn",
    "LEFT JOIN wide ON wide.n = rows.i64", "JOIN words ON words.w = rows.s || rows.word",
    "WHERE i64 * 0 = 0", "WHERE 0 * u64 < 1", "WHERE i64 * 0 + i32 > 3",
    "WHERE CASE WHEN i64 > 0 THEN 1000000007 * 1000000007 ELSE 0 END > 1",
    "WHERE 2147483647 + 1 > i32", "WHERE i64 > 0 AND -2147483647 - 2 < i64",
    "WHERE 65536 * 65536 // 7 > i32", "WHERE 46341 * 46341 % 7 = i32 % 3",
])  # fmt: skip
def test_no_join_and_no_product_raises_for_a_row(database: Connection, source: str) -> None:
    assert check(database, AROUND.format(source, "count(*) > 0")) == "measured"


def test_a_join_that_could_raise_is_refused(database: Connection) -> None:
    with pytest.raises(Refused, match="another type"):
        database.plan(AROUND.format("JOIN wide ON wide.n = rows.i128", "count(*) > 0"))


@pytest.mark.parametrize("value", [
    "CAST(300 AS TINYINT)", "CAST(i8 + 1000 AS TINYINT)", "CAST(-7 AS UINTEGER)",
    "CAST(CASE WHEN b THEN 19807040628566084398385987584 END AS DECIMAL(18,0))",
])  # fmt: skip
def test_a_cast_that_no_value_survives_adds_nothing(database: Connection, value: str) -> None:
    with pytest.raises(SqlError, match="the same for every row"):
        database.plan(AROUND.format("", f"sum({value}) > 0"))


def test_a_rounded_cast_excludes_nothing(database: Connection) -> None:
    cast = "count(*) FILTER (WHERE d2 = CAST('0.013' AS DECIMAL(9,2))) > 0"
    plan = database.plan(AROUND.format("", f"{cast} AND count(*) FILTER (WHERE d2 = 0.01) > 0"))
    assert plan.row_types == ((0, 1),)
    apart = "count(*) FILTER (WHERE d2 = 0.02) > 0 AND count(*) FILTER (WHERE d2 = 0.01) > 0"
    assert database.plan(AROUND.format("", apart)).row_types == ((0,), (1,))


@pytest.mark.parametrize("factor", [
    "least((1e-300 * 1e-300) / (1e-300 * 1e-300), 1000000)", "least(1e400 - 1, 1000000)",
    "least(1e300 * 1e300 - 1e300 * 1e300, 1000000)", "least(1e-200 * 1e-200 * 1e200, 7)",
])  # fmt: skip
def test_constants_beyond_double_make_no_bounds(database: Connection, factor: str) -> None:
    assert check(database, AROUND.format("", f"sum(i8 * {factor}) > 3")) == "refused"
    tame = AROUND.format("", "sum(i8 * least(1e3 * 1e3 - 1e2, 1000000)) > 3")
    assert check(database, tame) == "measured"


def test_a_collation_puts_no_row_into_two_groups_filters_or_joins() -> None:
    """NOCASE made 'A' equal 'a': a row was in two groups, met both filters and was joined twice."""
    with in_memory() as folder:
        made = [
            "CREATE TABLE t (g VARCHAR COLLATE nocase, s VARCHAR COLLATE nocase.noaccent)",
            "INSERT INTO t SELECT 'a', 'mul' FROM range(5)",
            "CREATE TABLE p (k VARCHAR COLLATE nocase, v BIGINT)",
            "INSERT INTO p VALUES ('a', 1), ('A', 2)",
        ]
        policy = folder / "policy.toml"
        policy.write_text(
            one_table("t", {"g": listed("A", "a"), "s": ""}, rows=9, more=public("p", "k"))
        )
        having = (
            "count(*) FILTER (WHERE s = 'M\u00fcl') > 1 AND count(*) FILTER (WHERE s = 'mul') > 1"
        )
        with opened(build(folder / "t.duckdb", made), policy, QuietSampler()) as db:
            plan = db.plan(f"SELECT g FROM t JOIN p ON t.g = p.k GROUP BY g HAVING {having}")
            assert plan.row_types == ((0,), (1,))
            values = [
                column.tolist() for column in unsealed(db._database.backend.measure(plan.scan))
            ]
    assert values == [[0, 0], [0, 5]]


def test_an_interval_has_no_text() -> None:
    """'1 month' equals '30 days': a text would tell apart what ties are broken by."""
    policy = parse_policy(one_table("t", {"g": listed(1), "i": 'type = "INTERVAL"'}))
    with pytest.raises(Refused, match="cast from INTERVAL"):
        make_plan("SELECT g FROM t GROUP BY g HAVING count(DISTINCT i::TEXT) > 1", policy)


def test_a_sum_and_its_coalesce_are_two_values() -> None:
    with in_memory() as folder:
        made = ["CREATE TABLE t (g INTEGER, i INTEGER)", "INSERT INTO t VALUES (1, 5)"]
        policy = folder / "policy.toml"
        policy.write_text(
            one_table("t", {"g": listed(1, 2), "i": within(0, 9)}, rows=9, epsilon=100.0)
        )
        sql = (
            "SELECT g FROM t GROUP BY g HAVING (sum(i) <= 0.5 OR count(*) < 3) "
            "AND coalesce(sum(i), 0) <= 0"
        )
        with opened(build(folder / "t.duckdb", made), policy, QuietSampler()) as db:
            answer = db.sql(sql, algorithm="apex", epsilon=50.0, u=1.0)
            assert isinstance(answer, Answer)
            assert answer.rows == ((2,),)


def test_a_product_of_public_keys_is_counted_before_it_is_built() -> None:
    with in_memory() as folder:
        made = [
            "CREATE TABLE p AS SELECT r AS k FROM range(5000) q(r)",
            "CREATE TABLE t AS SELECT r AS a, r AS b, r AS c FROM range(9) q(r)",
        ]
        keys = '{ keys = { table = "p", column = "k" } }'
        policy = folder / "policy.toml"
        policy.write_text(
            one_table(
                "t",
                f"""
a = {keys}
b = {keys}
c = {keys}
""",
                more=public("p", "k"),
            )
        )
        with opened(build(folder / "t.duckdb", made), policy, QuietSampler()) as db:
            with pytest.raises(Refused, match="125,000,000,000 groups"):
                db.sql("SELECT a FROM t GROUP BY a, b, c HAVING count(*) > 1")
            assert db.ledger() == ()


def test_the_ladder_finds_distances_of_any_length() -> None:
    for rate in (1e-18, 1e-9, 0.5, 20.0):
        for share in (1e-300, 0.1, 0.4999999999, 0.49999999999999994):
            assert tail(rate, distance(rate, share)) <= share
