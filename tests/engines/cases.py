"""Queries of the contract: every kind of expression that a private row can meet.

A case gives the same integers on every engine, or is refused there with a reason that the
engine's own test names.
"""

from __future__ import annotations

from collections.abc import Container

SITE = "SELECT site FROM events{where} GROUP BY site HAVING {having}"

# name -> HAVING, over GROUP BY site
HAVING = {
    "count": "count(*) > 5",
    "count column": "count(small) > 5",
    "count filter": "count(*) FILTER (WHERE flag) > 3",
    "count if": "count_if(level = 1) > 3",
    "sum integer": "sum(small) > 100",
    "sum clamped beyond the type": "sum(big) > 100",
    "sum decimal": "sum(price) > 100",
    "sum double": "sum(score) > 10",
    "sum filter": "sum(price) FILTER (WHERE level > 0) > 10",
    "average": "avg(small) > 10",
    "average decimal": "avg(price) > 10.55",
    "average double": "avg(score) < 2.5",
    "minimum": "min(small) < -40",
    "maximum": "max(price) > 999.98",
    "maximum double": "max(score) > 9.5",
    "median": "median(small) > 20",
    "quantile": "quantile_disc(score, 0.9) > 3",
    "distinct": "count(DISTINCT level) > 2",
    "distinct text": "count(DISTINCT note) > 2",
    "distinct double": "count(DISTINCT score) > 2",
    "many": "count(*) > 5 AND (sum(small) > 10 OR avg(price) > 20) AND count(DISTINCT level) > 2",
    "ratio": "sum(price) > 3 * count(*)",
    "sum of product": "sum(small * level) > 10",
    "sum of decimal product": "sum(price * level) > 10",
    "sum of double product": "sum(score * small) > 10",
    "sum of quotient": "sum(small / 7) > 3",
    "sum of rounding": "sum(round(score)) > 3",
    "sum of rounding to digits": "sum(round(score, 1)) > 3",
    "sum of floor": "sum(floor(score)) > 3",
    "sum of ceil": "sum(ceil(score)) > 3",
    "sum of abs": "sum(abs(small)) > 3",
    "sum of abs of the smallest": "sum(least(abs(big), 1000)) > 3",
    "sum of sign": "sum(sign(score)) > 3",
    "sum of integer division": "sum(small // 7) > 3",
    "sum of remainder": "sum(small % 7) > 3",
    "sum of negation": "sum(-small) > 3",
    "sum of case": "sum(CASE WHEN level > 0 THEN small WHEN level = 0 THEN 1 END) > 3",
    "sum of coalesce": "sum(coalesce(small, 3)) > 3",
    "sum of nullif": "sum(nullif(small, 3)) > 3",
    "sum of least": "sum(least(small, 10)) > 3",
    "sum of greatest": "sum(greatest(small, level)) > 3",
    "sum of length": "sum(least(length(note), 20)) > 3",
    "sum of year": "sum(least(greatest(year(day), 1900), 2100)) > 3",
    "sum of month": "sum(month(at)) > 3",
    "sum of days between": "sum(least(greatest(date_diff('day', day, DATE '2020-01-10'), -50), 50))"
    " > 3",
    "sum of cast": "sum(CAST(score AS INTEGER)) > 3",
    "sum of cast to decimal": "sum(CAST(score AS DECIMAL(9,3))) > 3",
    "sum of square root": "sum(sqrt(abs(small))) > 3",
}

# name -> WHERE of a count by site
WHERE = {
    "comparison": "small >= 10",
    "comparison of columns": "small > level",
    "comparison with decimal": "price > 2.495",
    "comparison of kinds": "price > small",
    "comparison with double": "score > 0.1",
    "double above all": "score > 1e300",
    "nan equals itself": "score = score",
    "between": "price BETWEEN 0.5 AND 2.5",
    "in": "level IN (0, 2)",
    "in with null": "level IN (0, NULL)",
    "not in": "level NOT IN (0, 2)",
    "in text": "note IN ('abc', '', 'it''s')",
    "is null": "note IS NULL",
    "is not null": "note IS NOT NULL AND day IS NOT NULL",
    "is true": "flag IS TRUE",
    "is not true": "flag IS NOT TRUE",
    "not": "NOT (flag AND level > 0)",
    "or": "flag OR level > 0 OR note = 'abc'",
    "distinct from": "level IS DISTINCT FROM 1",
    "not distinct from": "level IS NOT DISTINCT FROM NULL",
    "text equal": "note = 'abc'",
    "text equal with case": "note = 'ABC'",
    "text order": "note > 'Z'",
    "text order of columns": "note < site",
    "like": "note LIKE 'a%'",
    "like one": "note LIKE 'a_c'",
    "like backslash": "note LIKE 'a\\c'",
    "not like": "note NOT LIKE '%b%'",
    "ilike": "note ILIKE 'ABC'",
    "starts with": "starts_with(note, 'a')",
    "ends with": "ends_with(note, 'c')",
    "contains": "contains(note, '%')",
    "place": "strpos(note, 'c') = 3",
    "place of nothing": "strpos(note, '') = 1",
    "place of another column": "strpos(note, site) > 0 OR strpos(site, note) > 1",
    "concatenation": "note || site = 'abcnorth'",
    "lower": "lower(note) = 'abc'",
    "upper": "upper(note) = 'ABC'",
    "trim": "trim(note) = 'abc'",
    "length": "length(note) = 3",
    "substring": "substring(note, 2, 1) = 'b'",
    "substring from the end": "substring(note, -2, 1) = 'b'",
    "left": "left(note, 1) = 'a'",
    "right": "right(note, 1) = 'c'",
    "replace": "replace(note, 'b', '') = 'ac'",
    "date": "day >= DATE '2020-01-01'",
    "date as text": "day < '2020-01-05'",
    "timestamp": "at >= TIMESTAMP '2020-01-01 12:00:00'",
    "timestamp with date": "at > day",
    "zoned": "seen = seen",
    "zoned order": "seen IS NOT NULL",
    "year": "year(at) = 2020",
    "quarter": "quarter(day) = 1",
    "week": "week(day) = 1",
    "day of week": "dayofweek(day) = 0",
    "iso day of week": "isodow(day) = 7",
    "day of year": "dayofyear(day) = 366",
    "hour": "hour(at) < 12",
    "minute": "minute(at) = 59",
    "second": "second(at) < 30",
    "trunc hour": "date_trunc('hour', at) = TIMESTAMP '1899-12-31 23:00:00'",
    "trunc week": "date_trunc('week', day) = DATE '2019-12-30'",
    "trunc month": "date_trunc('month', at) = DATE '2020-01-01'",
    "day name": "dayname(day) = 'Sunday'",
    "month name": "monthname(at) IN ('January', 'May')",
    "date in a format": "strftime(day, '%Y-%m') = '2020-01' OR strftime(at, '%H:%M %j') < '12'",
    "seconds since 1970": "epoch(at) % 60 = 0",
    "concat": "concat(note, '-', level, flag) LIKE '%1%'",
    "days between dates": "day - DATE '2020-01-01' > 3",
    "interval": "day > DATE '2020-01-31' - INTERVAL '3' WEEK",
    "diff year": "date_diff('year', day, DATE '2020-01-01') = 1",
    "diff quarter": "date_diff('quarter', day, DATE '2020-01-01') = 1",
    "diff month": "date_diff('month', at, TIMESTAMP '2020-01-01 00:00:00') = 1",
    "diff week": "date_diff('week', day, DATE '2020-01-06') = 1",
    "diff hour": "date_diff('hour', at, TIMESTAMP '2020-01-01 00:00:00') < 5",
    "diff second": "date_diff('second', at, TIMESTAMP '2020-01-01 00:00:00') < 5000",
    "division": "small / level > 10",
    "division of decimals": "price / small > 0.3",
    "integer division": "small // 7 = -8",
    "remainder": "small % 7 = -4",
    "remainder by a column": "small % level = 1",
    "arithmetic": "small * 2 + level - 1 > 20",
    "wide arithmetic": "big + big > 10",
    "wide product": "big * small > 10",
    "decimal arithmetic": "price * 2 + 0.005 > 19.98",
    "double arithmetic": "score * 2 + 1 > 2",
    "double arithmetic in bounds": "least(greatest(score, -1e9), 1e9) * 2 + 1 > 2",
    "round": "round(score) = 2",
    "round a decimal": "round(price, 1) = 0.5",
    "floor": "floor(score) = -3",
    "logarithm": "ln(score) > 0",
    "logarithm of base 10": "log10(score) > 0",
    "square root": "sqrt(score) > 1",
    "cast to integer": "CAST(score AS INTEGER) = 2",
    "cast to smaller integer": "CAST(small AS TINYINT) = 3",
    "cast decimal to integer": "CAST(price AS BIGINT) = 3",
    "cast to decimal": "CAST(score AS DECIMAL(5,1)) = 0.5",
    "cast to double": "CAST(price AS DOUBLE) > 2.4",
    "cast to text": "CAST(level AS VARCHAR) = '1'",
    "cast text to integer": "CAST(note AS INTEGER) = 1",
    "cast text to date": "CAST(note AS DATE) = DATE '2020-01-01'",
    "cast timestamp to date": "CAST(at AS DATE) = DATE '2020-01-01'",
    "cast date to timestamp": "CAST(day AS TIMESTAMP) = at",
    "cast boolean": "CAST(flag AS INTEGER) = 1",
    "case": "CASE WHEN level > 0 THEN 'a' ELSE note END = 'a'",
    "case subject": "CASE level WHEN 1 THEN TRUE WHEN 2 THEN FALSE END",
    "coalesce": "coalesce(level, small, 0) > 0",
    "greatest": "greatest(level, small) > 5",
    "least of dates": "least(day, DATE '2020-01-01') < DATE '2020-01-01'",
    "greatest with null": "greatest(level, NULL) = 2",
}

# name -> whole queries
WHOLE = {
    "integer keys": "SELECT level FROM events GROUP BY level HAVING sum(small) > 10",
    "date keys": "SELECT day FROM events GROUP BY day HAVING count(*) > 5 AND sum(price) > 1",
    "two keys": "SELECT site, level FROM events GROUP BY site, level HAVING count(*) > 5",
    "month of a date": "SELECT date_trunc('month', day) FROM events"
    " GROUP BY date_trunc('month', day) HAVING count(*) > 5",
    "week of a date": "SELECT date_trunc('week', day) FROM events"
    " GROUP BY date_trunc('week', day) HAVING count(*) > 5",
    "expression key": "SELECT level % 2 FROM events GROUP BY level % 2 HAVING count(*) > 5",
    "public join": "SELECT e.site FROM events e JOIN sites s ON e.site = s.name"
    " WHERE s.region = 'S' GROUP BY e.site HAVING count(*) > 5",
    "public outer join": "SELECT e.site FROM events e LEFT JOIN sites s ON e.site = s.name"
    " WHERE s.region IS NULL GROUP BY e.site HAVING count(*) > 5",
    "public column in a sum": "SELECT e.site FROM events e JOIN sites s ON e.site = s.name"
    " GROUP BY e.site HAVING count(*) FILTER (WHERE e.small > s.beds) > 5",
    "public threshold": "SELECT e.site FROM events e JOIN sites s ON e.site = s.name"
    " GROUP BY e.site HAVING count(*) > s.cap",
    "values": "SELECT site, count(*), avg(small), avg(price), avg(score), count_if(flag) / count(*)"
    " FROM events GROUP BY site",
    "values of all rows": "SELECT count(*), sum(price), avg(small) FROM events WHERE level > 0",
    "buckets of a number": "SELECT floor(score / 3) * 3 AS b, count(*) FROM events GROUP BY b",
    "buckets of a decimal": "SELECT floor(price / 100) AS b, sum(small) FROM events GROUP BY b",
    "buckets of integers": "SELECT small // 25 AS b, site, count(*) FROM events GROUP BY b, site",
    "buckets of equal width": "SELECT width_bucket(score, -5, 5, 4) AS b, count(*) FROM events"
    " GROUP BY b",
    "buckets by cases": "SELECT CASE WHEN price < 0 THEN 'owed' WHEN price < 2 THEN 'low'"
    " WHEN level > 0 THEN 'high' END AS b, count(*) FROM events GROUP BY b",
    "buckets by a condition": "SELECT score > 1 AS b, flag, count(*) FROM events GROUP BY b, flag",
    "a median": "SELECT site, median(small) FROM events GROUP BY site",
    "a quantile of decimals": "SELECT site, quantile_disc(price, 0.9) FROM events GROUP BY site",
    "a maximum of doubles": "SELECT level, max(score) FILTER (WHERE flag) FROM events"
    " GROUP BY level",
    "values and quantiles": "SELECT site, count(*), min(small), max(price) FROM events"
    " GROUP BY site",
    "nobody": "SELECT site FROM events WHERE false GROUP BY site HAVING count(*) > 5",
}


# Cases with several measures, which `fuse = false` scans one by one.
SEPARATE = ("having many", "having average decimal", "public column in a sum", "two keys",
            "values of all rows")  # fmt: skip


def queries() -> dict[str, str]:
    """All cases by name."""
    found = {f"having {n}": SITE.format(where="", having=h) for n, h in HAVING.items()}
    for name, where in WHERE.items():
        found[f"where {name}"] = SITE.format(where=f" WHERE {where}", having="count(*) > 3")
    return found | WHOLE


def batches(refused: Container[str], size: int = 13) -> list[str]:
    """Queries that hold many cases each, for tables of other sizes: all that are not refused."""
    atoms = [having for name, having in HAVING.items() if f"having {name}" not in refused]
    atoms += [
        f"count(*) FILTER (WHERE {where}) > 3"
        for name, where in WHERE.items()
        if f"where {name}" not in refused
    ]
    found = [
        SITE.format(where="", having=" AND ".join(f"({atom})" for atom in atoms[i : i + size]))
        for i in range(0, len(atoms), size)
    ]
    return found + [query for name, query in WHOLE.items() if name not in refused]
