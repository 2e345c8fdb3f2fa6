"""The cut of a person's rows, as each engine is told it: frozen, because rows hang on it.

A change of these texts is a change of which rows stay.
"""

from __future__ import annotations

from probe_sql.policy import Column, Table, Unit, by_name
from probe_sql.scan.postgres.engine import POSTGRESQL, PostgresEngine, Shape, signed
from probe_sql.sql.forms.postgres_build import integer
from probe_sql.types import parse_type
from probe_sql.vault import bounding
from probe_sql.vault.spark import bounded_rows

TYPES = {"id": "BIGINT", "Cost": "DOUBLE", "ward": "VARCHAR", "note": "VARCHAR"}
SCHEMA = {name: parse_type(type_) for name, type_ in TYPES.items()}
KEY = 2**64 - 5

DUCKDB = (
    """INSERT INTO target SELECT "id", CASE WHEN "Cost" = 0 THEN 0::DOUBLE WHEN isnan("Cost")"""
    """ THEN 'nan'::DOUBLE ELSE "Cost" END AS "Cost", "ward" FROM (SELECT "id", "Cost", "ward","""
    """ probe_sql_want, ROW_NUMBER() OVER (PARTITION BY "id" ORDER BY"""
    """ hash(18446744073709551611::UBIGINT, "id", "Cost", "ward", "note"), "id", "Cost", "ward")"""
    """ AS probe_sql_row_number FROM "probe_sql whole visits" JOIN probe_sql_heavy"""
    """ ON "id" = probe_sql_person WHERE hash(18446744073709551611::UBIGINT, "id", "Cost","""
    """ "ward", "note") <= probe_sql_cut) AS t WHERE t.probe_sql_row_number <= probe_sql_want"""
)
POSTGRES = (
    """SELECT t."id", t."cost", t."ward" FROM (SELECT t."id", t."cost", t."ward", ROW_NUMBER()"""
    """ OVER (PARTITION BY t."id" ORDER BY HASHTEXTEXTENDED(t.probe_sql_text, (-5)),"""
    """ t.probe_sql_text) AS probe_sql_row_number FROM (SELECT t."id" AS "id","""
    """ t."Cost" AS "cost", CAST(t."ward" AS TEXT) COLLATE "C" AS "ward", CAST(ROW("""
    """t."id", t."Cost", t."ward", t."note") AS TEXT) COLLATE "C" AS probe_sql_text"""
    """ FROM "s"."Visits" AS t) AS t{where}) AS t WHERE t."id" IS NULL"""
    """ OR t.probe_sql_row_number <= 3"""
)
SPARK = (
    """SELECT `id`, `Cost`, `ward` FROM (SELECT `id`, `Cost`, `ward`, ROW_NUMBER() OVER"""
    """ (PARTITION BY `id` ORDER BY XXHASH64(-5L, `id`, `Cost`, `ward`, `note`), `id`, `Cost`,"""
    """ `ward`) AS probe_sql_row_number FROM `v` WHERE `id` IS NOT NULL) AS t"""
    """ WHERE t.probe_sql_row_number <= 3"""
)
ALONE = " UNION ALL SELECT `id`, `Cost`, `ward` FROM `v` WHERE `id` IS NULL"


def visits(null: str) -> Table:
    columns = by_name(Column("id"), Column("cost"), Column("ward"))
    return Table("visits", columns, Unit("id", 3, null=null))


def test_duckdb_is_told_the_same_cut() -> None:
    ran: list[str] = []

    def run(sql: str) -> list[tuple[int]]:
        ran.append(sql)
        return [(1,)]

    bounding.build(bounding.bounding(visits("drop"), SCHEMA, KEY), "target", run, lambda _: None)
    tied, above = (sql for sql in ran if sql.startswith("INSERT"))
    assert tied == DUCKDB.replace("heavy", "tied").replace("probe_sql_cut", "probe_sql_upper")
    assert above == DUCKDB.replace("heavy", "short").replace("<= probe_sql_cut", "> probe_sql_cut")


def test_postgresql_is_told_the_same_cut() -> None:
    shapes = {"visits": Shape("Visits", SCHEMA)}
    engine = PostgresEngine("PostgreSQL", "postgres", POSTGRESQL.translator, "s", shapes)
    for null, where in (("own", ""), ("drop", ' WHERE NOT t."id" IS NULL')):
        made = engine.bounded(visits(null), integer(signed(KEY))).sql(dialect="postgres")
        assert made == POSTGRES.replace("{where}", where)


def test_spark_is_told_the_same_cut() -> None:
    assert bounded_rows(visits("drop"), SCHEMA, "`v`", KEY) == SPARK
    assert bounded_rows(visits("own"), SCHEMA, "`v`", KEY) == SPARK + ALONE
