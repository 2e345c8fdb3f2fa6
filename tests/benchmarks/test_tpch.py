"""TPC-H's queries are accepted, on tables without rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from benchmarks import tpch
from probe_sql.session import Connection, connect

SCHEMA = """
CREATE TABLE customer (c_custkey BIGINT, c_name VARCHAR, c_nationkey INTEGER, c_phone VARCHAR,
    c_acctbal DECIMAL(15,2), c_mktsegment VARCHAR);
CREATE TABLE orders (o_orderkey BIGINT, o_custkey BIGINT, o_orderdate DATE,
    o_orderpriority VARCHAR, o_shippriority INTEGER);
CREATE TABLE lineitem (l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT,
    l_quantity DECIMAL(15,2), l_extendedprice DECIMAL(15,2), l_discount DECIMAL(15,2),
    l_tax DECIMAL(15,2), l_returnflag VARCHAR, l_linestatus VARCHAR, l_shipdate DATE,
    l_commitdate DATE, l_receiptdate DATE, l_shipmode VARCHAR);
CREATE TABLE nation (n_nationkey INTEGER, n_name VARCHAR, n_regionkey INTEGER);
CREATE TABLE region (r_regionkey INTEGER, r_name VARCHAR);
CREATE TABLE supplier (s_suppkey BIGINT, s_name VARCHAR, s_nationkey INTEGER);
CREATE TABLE part (p_partkey BIGINT, p_type VARCHAR);
"""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    folder: Path = tmp_path_factory.mktemp("tpch")
    with duckdb.connect(str(folder / "tpch.duckdb")) as db:
        db.execute(SCHEMA)
        db.execute(tpch.OWNER)
    (folder / "policy.toml").write_text(tpch.POLICY)
    with connect(folder / "tpch.duckdb", folder / "policy.toml") as connection:
        yield connection


@pytest.mark.parametrize("asked", tpch.QUERIES, ids=lambda asked: asked.name)
def test_a_query_is_accepted(asked: tpch.Asked, engine: Connection) -> None:
    assert str(engine.explain(asked.sql.replace("{quantity}", "100")))
    assert asked.changed
