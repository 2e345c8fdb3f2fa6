"""What is wrong with a policy for a database is said on opening, and not by every query."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from probe_sql.errors import PolicyError
from probe_sql.policy import parse_policy
from probe_sql.vault.backends import open_backend
from tests.examples import awkward
from tests.examples.policies import integers, one_table

POLICY = one_table("t", {"g": integers(0, 5)}, rows=100)


def made(path: Path, type_: str) -> Path:
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"CREATE TABLE t AS SELECT 0::{type_} AS g FROM range(9)")
    return path


def test_integers_that_a_decimal_cannot_hold_are_refused_on_opening(tmp_path: Path) -> None:
    path = made(tmp_path / "narrow.duckdb", "DECIMAL(4,4)")
    with pytest.raises(PolicyError, match=r"the key 5 is beyond what DECIMAL\(4,4\) can hold"):
        open_backend(path, parse_policy(POLICY))


def test_integers_that_a_decimal_can_hold_are_counted(tmp_path: Path) -> None:
    policy = parse_policy(POLICY)
    backend = open_backend(made(tmp_path / "wide.duckdb", "DECIMAL(5,4)"), policy)
    plan = awkward.planned(backend, "SELECT g FROM t GROUP BY g HAVING count(*) > 1", policy)
    assert awkward.values(backend.measure(plan.scan)) == [[9, 0, 0, 0, 0, 0]]
    backend.close()


def test_columns_of_the_engines_own_names_are_refused() -> None:
    with pytest.raises(PolicyError, match="names of columns that begin with probe_sql"):
        parse_policy(POLICY + '[tables.more.columns]\n"Probe_SQL_salt" = {}\n')


@pytest.mark.parametrize("name", ["probe_sql_heavy", "Probe_SQL_domain_0", '"probe_sql kept t"'])
@pytest.mark.parametrize("kind", ["tables", "public"])
def test_names_of_the_engines_own_are_refused(name: str, kind: str) -> None:
    more = f"[tables.{name}.columns]\ng = {{}}\n"
    if kind == "public":
        more = f'[public.{name}]\nkey = ["g"]\n'
    with pytest.raises(PolicyError, match="begin with probe_sql are the engine's own"):
        parse_policy(POLICY + more)
