"""Sales: the Kaggle set "Turkish Market Sales", a mail-order retailer, or generated rows."""

from __future__ import annotations

from pathlib import Path

from datasets.common import (
    Aggregate,
    Connection,
    Dataset,
    building,
    needed,
    published_files,
    random_macros,
    reader,
    renamed,
)

SALES_FILE = "retail_online_uci_2009_2011.parquet"
MARKETS = 43
PERIODS = 14

_LEFT_OUT = ("AKDENIZ", "EGE", "KARADENIZ")

# Canonical name, type and published spelling. `market` and `period` are the group keys.
_PUBLISHED = {
    "id": ("BIGINT", ("ID",)),
    "item_code": ("VARCHAR", ("ITEMCODE",)),
    "item_name": ("VARCHAR", ("ITEMNAME",)),
    "invoice": ("VARCHAR", ("FICHENO",)),
    "period": ("DATE", ("DATE_", "DATE")),
    "quantity": ("DOUBLE", ("AMOUNT",)),
    "unit_price": ("DOUBLE", ("PRICE",)),
    "line_total": ("DOUBLE", ("LINENETTOTAL",)),
    "line_net": ("DOUBLE", ("LINENET",)),
    "branch_nr": ("INTEGER", ("BRANCHNR",)),
    "branch": ("VARCHAR", ("BRANCH",)),
    "salesman": ("VARCHAR", ("SALESMAN",)),
    "market": ("VARCHAR", ("CITY",)),
    "region": ("VARCHAR", ("REGION",)),
    "latitude": ("DOUBLE", ("LATITUDE",)),
    "longitude": ("DOUBLE", ("LONGITUDE",)),
    "customer_id": ("VARCHAR", ("CLIENTCODE",)),
    "customer_name": ("VARCHAR", ("CLIENTNAME",)),
    "brand_code": ("VARCHAR", ("BRANDCODE",)),
    "brand": ("VARCHAR", ("BRAND",)),
    "department": ("VARCHAR", ("CATEGORY_NAME1",)),
    "category": ("VARCHAR", ("CATEGORY_NAME2",)),
    "subcategory": ("VARCHAR", ("CATEGORY_NAME3",)),
    "started": ("TIMESTAMP", ("STARTDATE",)),
    "ended": ("TIMESTAMP", ("ENDDATE",)),
    "gender": ("VARCHAR", ("GENDER",)),
}


def load_published(path: Path, database: Path) -> None:
    """`MarketSales.csv` as Kaggle offers it: cities outside three regions, 14 days of 2017.

    Regions are compared without regard to case and to the dots of Turkish letters.
    """
    with building(database) as connection:
        source = reader(published_files(path))
        names = renamed(connection, source, _PUBLISHED, optional=("line_net", "salesman"))
        connection.execute(
            "CREATE TABLE sales AS SELECT * REPLACE ("
            " round(quantity)::BIGINT AS quantity, upper(strip_accents(region)) AS region)"
            f" FROM (SELECT {names} FROM {source})"
        )
        _cities(connection)


def _cities(connection: Connection) -> None:
    """Public tables of the chain: its cities outside three regions, and 14 days of January."""
    left_out = ", ".join(f"'{region}'" for region in _LEFT_OUT)
    connection.execute(
        "CREATE TABLE markets AS SELECT DISTINCT market FROM sales"
        f" WHERE region NOT IN ({left_out}) AND market IS NOT NULL ORDER BY market LIMIT {MARKETS}"
    )
    connection.execute(
        "CREATE TABLE periods AS SELECT CAST(day AS DATE) AS period"
        " FROM generate_series(TIMESTAMP '2017-01-02', TIMESTAMP '2017-01-15', INTERVAL 1 DAY)"
        " AS days(day)"
    )


def load_standin(data_dir: Path, database: Path) -> None:
    """An online retailer, 2009 to 2011: 43 products in 14 months, October 2010 on.

    The busiest products stand for a catalogue that everybody can read.
    """
    source = reader([needed(data_dir, SALES_FILE)])
    with building(database) as connection:
        connection.execute(
            "CREATE TABLE sales AS SELECT invoice, stock_code AS market,"
            " CAST(date_trunc('month', invoice_date) AS DATE) AS period, invoice_ts AS started,"
            " CAST(quantity AS BIGINT) AS quantity, unit_price, line_total, customer_id, region,"
            " category, country, is_cancel, CAST(NULL AS VARCHAR) AS gender"
            f" FROM {source}"
        )
        connection.execute(
            "CREATE TABLE markets AS SELECT market FROM sales"
            f" GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT {MARKETS}"
        )
        connection.execute(
            "CREATE TABLE periods AS SELECT CAST(month AS DATE) AS period"
            " FROM generate_series(TIMESTAMP '2010-10-01', TIMESTAMP '2011-11-01',"
            " INTERVAL 1 MONTH) AS months(month)"
        )


def generate(database: Path, rows: int, seed: int) -> None:
    """Receipts of a supermarket chain in early 2017, 26 columns, 81 cities in 7 regions.

    Cities, customers and items follow ranks; a customer shops in one city, with a gender and
    a purse of their own. Some receipts have no customer, some lines are returns.
    """
    with building(database) as connection:
        random_macros(connection, seed)
        connection.execute(_GENERATE.format(rows=rows))
        _cities(connection)


_GENERATE = """
CREATE TABLE sales AS
WITH lines AS (
    SELECT i, u(i, 1) AS who, u(i, 2) AS when_u, zipf(u(i, 3), 9000) AS item,
           u(i, 4) AS guest, u(i, 5) AS many, u(i, 6) AS odd,
           zipf(pow(u(i, 7), 0.7), 81) AS city
    FROM range({rows}) AS r(i)
), shoppers AS (
    SELECT *, city * 100000 + zipf(who, 2500) AS customer,
        -- the first of a month and some weekdays are busier, in each city at its own pace
        CASE WHEN when_u < 0.3
             THEN floor(15 * pow(when_u / 0.3, 1 + 0.15 * (city % 3)))
             ELSE 15 + floor(85 * (when_u - 0.3) / 0.7) END::INTEGER AS day,
        round(0.5 + 18 * pow(u(item, 11), 3), 2) AS price,
        zipf(u(item, 12), 12) AS aisle
    FROM lines
), priced AS (
    SELECT *,
        (CASE WHEN odd < 0.01 THEN -1 ELSE 1 END)
          * zipf(pow(many, 1.8 - 0.3 * u(customer, 13) - 0.5 * u(city, 17)
                           - 0.3 * (city <= 11)::INTEGER), 40) AS pieces,
        CASE WHEN city <= 11 THEN 'MARMARA' WHEN city <= 24 THEN 'IC ANADOLU'
             WHEN city <= 36 THEN 'DOGU ANADOLU' WHEN city <= 43 THEN 'GUNEYDOGU ANADOLU'
             WHEN city <= 55 THEN 'AKDENIZ' WHEN city <= 65 THEN 'EGE' ELSE 'KARADENIZ' END
            AS land
    FROM shoppers
)
SELECT
    i AS id,
    'IT' || item AS item_code,
    'item ' || item AS item_name,
    'F' || (i // 4) AS invoice,
    CASE WHEN odd > 0.9995 THEN DATE '2019-01-01' ELSE DATE '2017-01-01' + day END AS period,
    pieces::BIGINT AS quantity,
    price AS unit_price,
    round(pieces * price, 2) AS line_total,
    round(pieces * price / 1.08, 2) AS line_net,
    city AS branch_nr,
    'branch ' || city AS branch,
    'clerk ' || (city * 10 + i % 7) AS salesman,
    'city ' || lpad(city::VARCHAR, 2, '0') AS market,
    land AS region,
    round(36 + 6 * u(city, 14), 4) AS latitude,
    round(26 + 18 * u(city, 15), 4) AS longitude,
    CASE WHEN guest > 0.2 THEN customer::VARCHAR END AS customer_id,
    CASE WHEN guest > 0.2 THEN 'customer ' || customer END AS customer_name,
    CASE WHEN odd > 0.02 THEN 'B' || (item % 300) END AS brand_code,
    CASE WHEN odd > 0.02 THEN 'brand ' || (item % 300) END AS brand,
    'department ' || (aisle // 4) AS department,
    'category ' || aisle AS category,
    'shelf ' || (item % 60) AS subcategory,
    TIMESTAMP '2017-01-01 09:00:00' + to_days(day) + to_seconds((36000 * many)::BIGINT) AS started,
    TIMESTAMP '2017-01-01 09:02:00' + to_days(day) + to_seconds((36000 * many)::BIGINT) AS ended,
    CASE WHEN guest > 0.2 THEN CASE WHEN u(customer, 16) < 0.55 THEN 'K' ELSE 'E' END END AS gender
FROM priced
"""


def _average(name: str, column: str, high: int, condition: str = "") -> Aggregate:
    """AVG of a clamped column; what is compared with zero is the sum of x - c."""
    where = f" FILTER (WHERE {condition})" if condition else ""
    clamped = f"least(greatest({column}, 0), {high})"
    return Aggregate(
        name,
        f"avg({column}){where}",
        exact=f"avg({clamped}){where}",
        slack=f"sum({clamped} - {{c}}){where}",
        digits=2,
    )


_HOME = "region IN ('MARMARA', 'UK')"
_VOLUME = Aggregate("sales volume", "count(*)")
_REGIONAL = Aggregate("regional sales volume", f"count(*) FILTER (WHERE {_HOME})")
_CUSTOMERS = Aggregate("user retention rate", "count(DISTINCT customer_id)")
_CONVERSION = Aggregate(
    "conversion rate",
    "count(*) / count(DISTINCT customer_id)",
    exact="count(*) / nullif(count(DISTINCT customer_id), 0)",
    slack="count(*) - {c} * count(DISTINCT customer_id)",
    digits=2,
)

DATASET = Dataset(
    name="sales",
    table="sales",
    keys=("market", "period"),
    domain="SELECT market AS k0, period AS k1 FROM markets, periods",
    counts=(
        _VOLUME,
        _REGIONAL,
        _CUSTOMERS,
        Aggregate("large sales", "count(*) FILTER (WHERE line_total > 20)"),
        Aggregate("bulk sales", "count(*) FILTER (WHERE quantity >= 12)"),
        Aggregate("registered", "count(*) FILTER (WHERE NOT customer_id IS NULL)"),
    ),
    groups=(MARKETS, PERIODS),
    rows=1_200_000,
    columns=26,
    load_published=load_published,
    load_standin=load_standin,
    generate=generate,
    averages=(
        _average("transaction value", "line_total", 50),
        _average("value at home", "line_total", 50, _HOME),
        _average("value, registered", "line_total", 50, "NOT customer_id IS NULL"),
        _average("value without returns", "line_total", 50, "quantity > 0"),
        _average("value of several pieces", "line_total", 50, "quantity > 1"),
        _average("unit price", "unit_price", 20),
    ),
    kpis=(_VOLUME, _REGIONAL, _CUSTOMERS, _CONVERSION),
    standin_files=(SALES_FILE,),
)
