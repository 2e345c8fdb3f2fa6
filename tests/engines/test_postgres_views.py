"""Views on PostgreSQL: those that may fail for a row are refused, and the others read."""

from __future__ import annotations

import pytest

from probe_sql.errors import OperationalError
from probe_sql.plan.plan import make_plan
from probe_sql.policy import Policy, parse_policy
from probe_sql.vault.backends import open_backend
from tests.engines.contract import measured
from tests.engines.server import READER, Server

_POLICY = """
[budget]
epsilon = 1.0
[tables.v]
unit = {unit}
[tables.v.columns]
g = {{ keys = ["x", "y"] }}
b = {{ bounds = [0, 100] }}
"""
_BASE = (
    "CREATE TABLE base (g text, name text, a text, n int, big bigint, day date, amount numeric,"
    ' f float8, u text COLLATE "POSIX", w text COLLATE "C")',
    "INSERT INTO base SELECT 'x', 'n' || i, '12', i, i, '2000-01-01', 1.5, 2.5, 'x', 'x'"
    " FROM generate_series(1, 100) i",
    "INSERT INTO base VALUES ('x', 'alice', 'canary', 0, 0, 'infinity', 'NaN', 'NaN', 'x', 'x')",
    "CREATE TABLE other (name text, m int)",
    "INSERT INTO other SELECT name, n FROM base",
    "CREATE TABLE wide (LIKE base, twice int GENERATED ALWAYS AS (n * 2) STORED)",
    "CREATE FUNCTION f(x text) RETURNS int LANGUAGE plpgsql STABLE AS"
    " $$BEGIN IF x = 'canary' THEN RAISE EXCEPTION 'no'; END IF; RETURN 1; END$$",
    "CREATE FUNCTION same(a int, b int) RETURNS boolean LANGUAGE sql STABLE AS 'SELECT 1/a = b'",
    "CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = same)",
    "CREATE TABLE few (one int[], two int[])",
    "CREATE DOMAIN small AS int CHECK (VALUE > 0)",
)
_COMPUTED = {
    "cast of a text": "SELECT g, a::int AS b FROM base",
    "division": "SELECT g, 100 / n AS b FROM base",
    "sum that overflows": "SELECT g, n + 2147483600 AS b FROM base",
    "age": "SELECT g, extract(year FROM age(day))::int AS b FROM base",
    "numeric to int": "SELECT g, amount::int AS b FROM base",
    "float to int": "SELECT g, f::int AS b FROM base",
    "numeric to float": "SELECT g, amount::float8 AS b FROM base",
    "bigint to int": "SELECT g, big::int AS b FROM base",
    "json": "SELECT g, (a::json ->> 'x')::int AS b FROM base",
    "domain": "SELECT g, n::small AS b FROM base",
    "scalar subquery": "SELECT g, (SELECT m FROM other o WHERE o.m < p.n) AS b FROM base p",
    "function": "SELECT g, f(a) AS b FROM base",
    "function in a filter": "SELECT g, n AS b FROM base WHERE f(a) = 1",
    "cast in a filter": "SELECT g, n AS b FROM base WHERE a::int > 1",
    "cast in a guard": "SELECT g, CASE WHEN a <> 'canary' THEN a::int END AS b FROM base",
    "cast in a join": "SELECT g, m AS b FROM base JOIN other ON a::int = m",
    "operator of the owner's": "SELECT g, n AS b FROM base WHERE n OPERATOR(@.===) 1",
    "pattern of a row": "SELECT g, n AS b FROM base WHERE g LIKE a",
    "aggregate": "SELECT g, sum(n)::int AS b FROM base GROUP BY g",
    "lateral function": "SELECT g, s AS b FROM base, generate_series(1, 10 / n) s",
    "texts of two collations": "SELECT g, n AS b FROM base WHERE w = u",
    "a view of such a view": "SELECT g, b FROM inner_",
    "whole in a name": 'SELECT g, n AS b, 1 AS "{OPEXPR :opfuncid 1" FROM base WHERE f(a) = 1',
    "arrays of a row": "SELECT g, n AS b FROM base, few WHERE n = ANY (ARRAY[one, two])",
    "setting": "SELECT g, n AS b FROM base WHERE n = current_setting('app.tenant', true)::int",
}
_PLAIN = {
    "columns": "SELECT g, n AS b FROM base",
    "constant": "SELECT g, 1 AS b FROM base",
    "filter": "SELECT g, n AS b FROM base WHERE n > 3 AND name <> 'alice' OR day IS NULL",
    "list": "SELECT g, n AS b FROM base WHERE n IN (1, 2, 3) AND g NOT IN ('y', 'z')",
    "between": "SELECT g, n AS b FROM base WHERE day BETWEEN '1990-01-01' AND '2010-01-01'",
    "case": "SELECT g, CASE WHEN n > 5 THEN n ELSE 0 END AS b FROM base",
    "case of values": "SELECT g, CASE name WHEN 'alice' THEN 1 ELSE n END AS b FROM base",
    "coalesce": "SELECT g, coalesce(n, 0) AS b FROM base",
    "join": "SELECT g, m AS b FROM base JOIN other USING (name)",
    "outer join": "SELECT g, m AS b FROM base b LEFT JOIN other o ON b.name = o.name",
    "wider": "SELECT g, n::bigint AS b FROM base WHERE big = n",
    "union all": "SELECT g, n AS b FROM base UNION ALL SELECT 'y', m FROM other",
    "stored": "SELECT g, twice AS b FROM wide",
    "distinct from": "SELECT g, n AS b FROM base WHERE n IS DISTINCT FROM 3",
    "view of views": "SELECT g, b FROM simple WHERE b < 50",
}


def _policy(unit: str = '"row"') -> Policy:
    return parse_policy(_POLICY.format(unit=unit))


def _made(server: Server, view: str, *more: str) -> str:
    """The URL of a schema with the base table and the view `v`."""
    schema = server.load({})
    with server.owner() as connection:
        connection.execute(f"SET search_path = {schema}")
        for statement in (*_BASE, *more, view, f"GRANT SELECT ON v TO {READER}"):
            connection.execute(statement.replace("@.", f"{schema}.").encode())
    return server.url(schema=schema)


@pytest.mark.parametrize("case", _COMPUTED)
def test_a_view_that_may_fail_for_a_row_is_refused_by_name(case: str, server: Server) -> None:
    """Whether a query fails would tell of the row that it selects, as often as one likes."""
    inner = "CREATE VIEW inner_ AS SELECT g, a::int AS b FROM base"
    url = _made(server, f"CREATE VIEW v AS {_COMPUTED[case]}", inner)
    with pytest.raises(OperationalError, match="the view v computes") as caught:
        open_backend(url, _policy())
    assert "MATERIALIZED VIEW" in str(caught.value)
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("case", _PLAIN)
def test_a_view_that_fails_for_no_row_is_read(case: str, server: Server) -> None:
    inner = "CREATE VIEW simple AS SELECT g, n AS b FROM base"
    url = _made(server, f"CREATE VIEW v AS {_PLAIN[case]}", inner)
    policy = _policy()
    backend = open_backend(url, policy)
    query = "SELECT g FROM v WHERE b >= 0 GROUP BY g HAVING count(*) > 5"
    plan = make_plan(query, policy.with_types(backend.schemas()), engine=backend.engine)
    assert (sum(measured(backend, plan)[0]) > 0) == (case != "stored")  # that one is empty
    backend.close()


def test_a_materialised_view_may_compute(server: Server) -> None:
    """It was computed when its owner made it."""
    view = "CREATE MATERIALIZED VIEW v AS SELECT g, 100 / n AS b FROM base WHERE n <> 0"
    policy = _policy()
    backend = open_backend(_made(server, view), policy)
    query = "SELECT g FROM v WHERE b >= 0 GROUP BY g HAVING count(*) > 5"
    plan = make_plan(query, policy.with_types(backend.schemas()), engine=backend.engine)
    assert measured(backend, plan) == [[100, 0]]
    backend.close()
