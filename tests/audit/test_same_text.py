"""The same text, answered by DuckDB and by the engine without noise, gives the same rows.

Every key of the domain has rows here and no key is NULL, so that plain SQL lists the same groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from probe_sql.answer import Answer
from probe_sql.session import Connection
from tests.examples.policies import one_table
from tests.examples.sources import build

from .bench import in_memory
from .workbench import QuietSampler, opened

POLICY = one_table(
    "sales",
    """
product_id = { keys = { table = "products", column = "id" } }
shop = { keys = ["north", "south"] }
day = { keys = { dates = ["2024-01-01", "2024-01-12"] } }
stars = { keys = { integers = [1, 5] }, bounds = [1, 5] }
price = { bounds = [0, 1000] }
pieces = { bounds = [0, 50] }
buyer = {}
""",
    rows=1000,
    epsilon=1e6,
    per_query=900.0,
    more="""
[defaults]
algorithm = "apex"
u = 1.0
fnr = 0.4
[public.products]
key = ["id"]
[public.products.columns]
id = "INTEGER"
name = "VARCHAR"
maker_id = "INTEGER"
price = { type = "DECIMAL(8,2)", bounds = [0, 1000] }
[public.makers]
key = ["id"]
[public.makers.columns]
id = "INTEGER"
name = "VARCHAR"
country = "VARCHAR"
[public.shops]
key = ["shop"]
[public.shops.columns]
shop = "VARCHAR"
city = "VARCHAR"
""",
)
TABLES = [
    "CREATE TABLE makers AS SELECT * FROM (VALUES (10, 'Acme', 'FR'), (20, 'Bolt', 'FR'), "
    "(30, 'Core', NULL)) v(id, name, country)",
    "CREATE TABLE products AS SELECT * FROM (VALUES (1, 'nail', 10, 2.50::DECIMAL(8,2)), "
    "(2, 'saw', 20, 30), (3, 'glue', 20, 7.25), (4, 'rope', 30, 12), (5, NULL, 10, 1)) "
    "v(id, name, maker_id, price)",
    "CREATE TABLE shops AS SELECT * FROM (VALUES ('north', 'Oslo'), ('south', 'Rome')) "
    "v(shop, city)",
    "CREATE TABLE sales AS SELECT (1 + i % 5)::INTEGER AS product_id, "
    "CASE WHEN i * 7 % 11 < 6 THEN 'north' ELSE 'south' END AS shop, "
    "DATE '2024-01-01' + (i * 5 % 12)::INTEGER AS day, (1 + i * 3 % 5)::INTEGER AS stars, "
    "((i * 37) % 500 / 4.0)::DECIMAL(8,2) AS price, (i * i % 23)::INTEGER AS pieces, "
    "'b' || (i % 17) AS buyer FROM range(400) r(i)",
]
JOINS = [
    "SELECT p.id, p.name, p.price, sum(s.price) FROM products p JOIN sales s ON product_id = p.id "
    "GROUP BY p.id, p.name, p.price",
    "SELECT s.product_id, p.id, m.name, m.country, count(*) FROM sales s, products p, makers m "
    "WHERE p.id = s.product_id AND m.id = p.maker_id AND s.pieces > 3 AND m.country = 'FR' "
    "GROUP BY p.id, s.product_id, m.name, m.country HAVING count(*) > 0",
    "SELECT m.id, m.name, avg(s.price) FROM sales s JOIN products p ON p.id = product_id "
    "JOIN makers m ON m.id = p.maker_id GROUP BY m.id, m.name",
    "SELECT m.name, count(*) FROM sales s JOIN products p ON p.id = product_id AND s.pieces < 9 "
    "JOIN makers m ON m.id = p.maker_id AND (p.price > 2 OR s.stars = 5) GROUP BY m.name",
    "SELECT shop, city, count(*) FROM sales NATURAL JOIN shops GROUP BY shop, city",
    "SELECT shop, city, count(*) FROM shops JOIN sales USING (shop) GROUP BY ALL",
    "SELECT DISTINCT shop, city FROM sales JOIN shops USING (shop) GROUP BY shop, city "
    "HAVING count(*) > 150",
    "SELECT stars, count(*) FROM sales GROUP BY stars HAVING count(*) > 16 * stars",
    "SELECT p.price FROM sales s JOIN products p ON p.id = product_id GROUP BY p.price "
    "HAVING sum(pieces) > 70 * p.price",
    "SELECT p.id FROM sales s JOIN products p ON p.id = product_id GROUP BY p.id, p.price "
    "HAVING avg(s.price) > p.price AND max(s.pieces) > p.price",
    "SELECT stars, upper(shop), count(*) FROM sales GROUP BY stars, shop, upper(shop), shop",
]  # fmt: skip
VALUES = [
    "SELECT shop, round(avg(price), 1), CAST(sum(pieces) AS DOUBLE) / nullif(count(*), 0) "
    "FROM sales GROUP BY shop",
    "SELECT shop, round(100.0 * sum(CASE WHEN stars > 3 THEN 1 ELSE 0 END) / count(*), 2) AS good "
    "FROM sales GROUP BY shop ORDER BY good",
    "SELECT stars, avg(price) - avg(pieces), avg(price) / avg(pieces), sum(price) * sum(pieces) "
    "FROM sales GROUP BY stars",
    "SELECT stars, 1000 * sum(pieces) / (sum(price) + count(*)), sqrt(sum(price)), -count(*) "
    "FROM sales GROUP BY stars",
    "SELECT stars, count(*) * stars, sum(pieces) / (stars + 1), floor(avg(price)), "
    "ceil(avg(price)) FROM sales GROUP BY stars",
    "SELECT p.id, sum(s.price) / p.price AS worth, round(sum(s.price) - 10 * p.price) FROM sales s "
    "JOIN products p ON p.id = product_id GROUP BY p.id, p.price",
    "SELECT greatest(count(*), 500), least(avg(price), 3), abs(-sum(pieces)), "
    "coalesce(avg(price), 0), ln(sum(price)), exp(avg(price) / 100), avg(price)::DECIMAL(9, 1), "
    "count(*)::INTEGER FROM sales",
    "SELECT round(avg(price)) AS p, round(sum(pieces), -2) FROM sales",
    "SELECT shop FROM sales GROUP BY shop ORDER BY count(*) DESC",
    "SELECT stars FROM sales GROUP BY stars ORDER BY sum(price) / count(*) DESC, abs(stars - 3)",
    "SELECT stars FROM sales GROUP BY stars ORDER BY abs(stars - 3), -stars",
    "SELECT stars, sum(pieces) FROM sales GROUP BY stars ORDER BY round(sum(price), -2), 1 LIMIT 2",
    "SELECT stars, round(sum(pieces)) FROM sales GROUP BY stars HAVING sum(pieces) > 10 "
    "ORDER BY sum(pieces)",
]  # fmt: skip
HAVING = [
    "SELECT stars FROM sales GROUP BY stars HAVING round(avg(pieces), 1) > 8.1",
    "SELECT stars FROM sales GROUP BY stars HAVING round(avg(pieces)) = 8",
    "SELECT stars, round(sum(price), -2) AS p FROM sales GROUP BY stars HAVING p >= 5000",
    "SELECT stars FROM sales GROUP BY stars HAVING NOT 5000 > round(sum(price), -2)",
    "SELECT stars FROM sales GROUP BY stars HAVING CAST(sum(price) - 5000 AS INTEGER) < 0",
    "SELECT stars FROM sales GROUP BY stars HAVING round(sum(price) - 5000, -2) <> 0",
    "SELECT stars FROM sales GROUP BY stars HAVING round(sum(price) - 5000, -1) IN (0, 10, -100)",
    "SELECT stars FROM sales GROUP BY stars HAVING round(sum(price) - 5000, -1) BETWEEN -20 AND 10",
    "SELECT shop, count(*) FROM sales GROUP BY shop HAVING shop LIKE 's%'",
    "SELECT shop, stars FROM sales GROUP BY shop, stars HAVING stars > 2 AND count(*) > 40",
    "SELECT shop, stars FROM sales GROUP BY shop, stars HAVING (stars > 2 AND shop = 'north') "
    "AND NOT count(*) > 40",
    "SELECT m.name, count(*) FROM sales JOIN products p ON p.id = product_id "
    "JOIN makers m ON m.id = p.maker_id GROUP BY m.name, m.id, m.country HAVING m.country = 'FR'",
    "SELECT month(day) AS m, count(*) FROM sales GROUP BY m HAVING m < 2 AND 1 = 1",
    "SELECT shop, sum(pieces) FROM sales GROUP BY shop HAVING shop = 'west'",
    "SELECT shop FROM sales GROUP BY shop HAVING shop = 'west' AND count(*) > 3",
    "SELECT stars, count(*) AS n FROM sales GROUP BY stars HAVING stars <> 3 ORDER BY n, stars",
]  # fmt: skip
DATES = [
    "SELECT concat(shop, '-', stars) AS cell, count(*) FROM sales GROUP BY cell",
    "SELECT shop || dayname(day) AS k, count(*) FROM sales GROUP BY k ORDER BY k",
    "SELECT p.maker_id * 10 + stars AS k, sum(pieces) FROM sales "
    "JOIN products p ON p.id = product_id GROUP BY k HAVING sum(pieces) > 100",
    "SELECT dayname(day) AS d, count(*) FROM sales GROUP BY dayname(day)",
    "SELECT strftime(day, '%Y-%m') AS m, monthname(day) AS n, count(*) FROM sales GROUP BY ALL",
    "SELECT concat(shop, '-', stars) AS cell, count(*) FROM sales GROUP BY shop, stars",
    "SELECT shop, count(*) FROM sales WHERE day >= DATE '2024-02-11' - INTERVAL '1' MONTH "
    "AND day < DATE '2023-12-31' + INTERVAL 12 DAY GROUP BY shop",
    "SELECT shop, count(*) FROM sales WHERE day - DATE '2024-01-01' > 3 "
    "AND day < DATE '2024-01-01' + 9 GROUP BY shop",
    "SELECT shop, count(*) FROM sales WHERE extract(epoch FROM day) / 86400 > 19727 GROUP BY shop",
    "SELECT shop, count(*) FROM sales WHERE strftime(day, "
    "'%A %d. %B %Y, %j %% %H:%M:%S %a %b %u %w') < 'T' GROUP BY shop",
    "SELECT stars FROM sales GROUP BY stars "
    "HAVING percentile_disc(0.9) WITHIN GROUP (ORDER BY pieces) > 16",
]  # fmt: skip
# What DuckDB wants to be written in full: there the rest of a row does not follow from its key.
SHORTER = [
    ("SELECT p.id, p.name, count(*) FROM sales JOIN products p ON p.id = product_id GROUP BY p.id",
     "SELECT p.id, p.name, count(*) FROM sales s JOIN products p ON p.id = product_id "
     "GROUP BY p.id, p.name"),
    ("SELECT m.country, p.name FROM sales s JOIN products p ON p.id = product_id "
     "JOIN makers m ON m.id = p.maker_id GROUP BY s.product_id HAVING count(*) > p.price",
     "SELECT any_value(m.country), any_value(p.name) FROM sales s JOIN products p "
     "ON p.id = product_id JOIN makers m ON m.id = p.maker_id GROUP BY s.product_id "
     "HAVING count(*) > any_value(p.price)"),
]  # fmt: skip


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[Connection, duckdb.DuckDBPyConnection]]:
    with in_memory() as folder, duckdb.connect() as side:
        for statement in TABLES:
            side.execute(statement)
        policy = folder / "policy.toml"
        policy.write_text(POLICY)
        database = build(Path(folder) / "shop.duckdb", TABLES)
        with opened(database, policy, QuietSampler()) as engine:
            yield engine, side


def plain(value: Any) -> Any:
    return float(value) if isinstance(value, Decimal | float) else value


def compare(
    asked: str, both: tuple[Connection, duckdb.DuckDBPyConnection], written: str | None = None
) -> None:
    """Both answers, in any order unless the text asks for one."""
    engine, side = both
    answer = engine.sql(asked)
    assert isinstance(answer, Answer)
    assert answer.status == "answered", (asked, answer)
    wanted = [tuple(map(plain, row)) for row in side.execute(written or asked).fetchall()]
    found = [tuple(map(plain, row)) for row in answer.rows]
    if "ORDER BY" not in asked:
        wanted, found = sorted(wanted, key=repr), sorted(found, key=repr)
    assert len(found) == len(wanted), (asked, found, wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert a == (pytest.approx(b, rel=1e-9) if isinstance(b, float) else b), asked
            assert isinstance(a, date) == isinstance(b, date), asked


@pytest.mark.parametrize("asked", JOINS)
def test_joins_and_what_they_determine(
    asked: str, both: tuple[Connection, duckdb.DuckDBPyConnection]
) -> None:
    compare(asked, both)


@pytest.mark.parametrize(("asked", "written"), SHORTER)
def test_the_rest_of_a_public_row_follows_from_its_key(
    asked: str, written: str, both: tuple[Connection, duckdb.DuckDBPyConnection]
) -> None:
    compare(asked, both, written)


@pytest.mark.parametrize("asked", VALUES)
def test_what_stands_around_values(
    asked: str, both: tuple[Connection, duckdb.DuckDBPyConnection]
) -> None:
    compare(asked, both)


@pytest.mark.parametrize("asked", HAVING)
def test_conditions_on_keys(asked: str, both: tuple[Connection, duckdb.DuckDBPyConnection]) -> None:
    compare(asked, both)


def test_a_domain_is_kept_for_its_conditions_alone(
    both: tuple[Connection, duckdb.DuckDBPyConnection],
) -> None:
    """Groups of one question are not those of the next, though the keys are the same."""
    for letter in ("n", "s", "x", "n"):
        compare(
            f"SELECT shop, count(*) FROM sales GROUP BY shop HAVING shop LIKE '{letter}%'", both
        )


@pytest.mark.parametrize("asked", DATES)
def test_dates_and_texts(asked: str, both: tuple[Connection, duckdb.DuckDBPyConnection]) -> None:
    compare(asked, both)
