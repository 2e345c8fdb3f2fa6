"""Refusals of WHERE, FROM and of blocks, and what their fixes come to."""

from __future__ import annotations

from probe_sql.scan.engine import DUCKDB
from tests.sql.fix_case import Case, Granted, column, ward, where

JOINED = """
[tables.moved]
rows_per_group = 10
[tables.moved.columns]
ward = { type = "VARCHAR", keys = ["A", "B", "C"] }
late = { type = "BOOLEAN" }

[public.diseases]"""
INNER = "SELECT ward, count(*) FROM (SELECT ward FROM stays {}) q GROUP BY ward"
PUBLIC = "\n[public.diseases]"
WHERE = [
    Case(where("giant * giant > 1"),
         where("CAST(giant AS DOUBLE) * CAST(giant AS DOUBLE) > 1")),
    Case(where("weight // 10 = 2"), where("floor(weight / 10) = 2")),
    Case(where("weight % 10 = 2"), where("CAST(weight AS BIGINT) % 10 = 2")),
    Case(where("power(" + " + ".join(["age"] * 150) + ", 4) > 1"),
         "SELECT count(*) FROM (SELECT age AS base FROM stays) b WHERE power(base, 4) > 1"),
    Case(where("power(age, 400) > 1"), where("power(age, 2) > 1")),
    Case(where("CAST(name AS TIME) IS NULL"), where("CAST(name AS TIMESTAMP) IS NULL")),
    Case(where("age = 'seventy'"), where("CAST(age AS VARCHAR) = 'seventy'")),
    Case(where("age IN (zone, grade)"), where("age = zone OR age = grade")),
    Case(where("age IN unnest([1, 2])"), where("age IN (1, 2)")),
    Case(where("log(3, age) > 1")),
    Case(where("age"), where("age > 0")),
    Case(where("year(moment) = 2020"),
         column('moment = { type = "TIMESTAMPTZ" }', 'moment = { type = "TIMESTAMP" }')),
    Case(where("lower(age) = 'a'"), where("lower(CAST(age AS TEXT)) = 'a'")),
    Case(where("date_trunc('fortnight', seen) = DATE '2020-01-01'"),
         where("date_trunc('week', seen) = DATE '2020-01-01'")),
    Case(where(f"strftime(seen, '{'%Y' * 200}') = '1'"), where("strftime(seen, '%Y%m') = '1'")),
    Case(where("strftime(seen, '%Q') = '1'"), where("strftime(seen, '%Y') = '1'")),
    Case(where("CONVERT(int, age / 8) = 2"), where("CAST(trunc(age / 8) AS INT) = 2")),
    Case(where("CONVERT(int, age / 8) = 2"), where("CAST(age / 8 AS INT) = 2")),
    Case(where("CONVERT(varchar(2), age) = '20'"),
         where("left(CAST(age AS VARCHAR), 2) = '20'")),
    Case(where("born = '2020-02-30'"), where("born = '2020-02-29'")),
    Case(where("born = '30.02.2020'"), where("born = '2020-02-29'")),
    Case(where("seen > TIMESTAMP '2020-03-01 08:30:00+01:00'")),
    Case(where("seen > '2020-03-01 08:30:00+01'")),
    Case(where("born > DATE '2020-01-01' - INTERVAL '1 fortnight'"),
         where("born > DATE '2020-01-01' - INTERVAL '14' DAY")),
    Case(where("arrived - seen > INTERVAL '1' HOUR")),
    Case(where("arrived - seen > INTERVAL '1' MONTH"),
         where("date_diff('second', seen, arrived) > 100")),
    Case("SELECT avg(arrived - seen) FROM stays",
         "SELECT avg(LEAST(GREATEST(date_diff('second', seen, arrived), 0), 10)) FROM stays"),
    Case("SELECT avg(date_diff('day', born, admitted)) FROM stays",
         "SELECT avg(LEAST(GREATEST(date_diff('day', born, admitted), 0), 10)) FROM stays"),
    Case(ward("avg(date_diff('day', born, admitted)) > 3"),
         ward("avg(LEAST(GREATEST(date_diff('day', born, admitted), 0), 10)) > 3")),
    Case(where("'2020-03-01' - INTERVAL '1' DAY > born"),
         where("DATE '2020-03-01' - INTERVAL '1' DAY > born")),
    Case(where("sqrt(" * 20 + "weight" + ")" * 20 + " > 1"), where("sqrt(sqrt(weight)) > 1")),
    Case(where("born + INTERVAL '1' DAY > admitted")),
    Case(where("admitted < born + INTERVAL '1' DAY")),
    Case(where("arrived >= seen - INTERVAL '90' MINUTE")),
    Case(where("seen + INTERVAL '1' HOUR > TIMESTAMP '2020-03-01 08:30:00'")),
    Case(where("seen + INTERVAL '2' MONTH > '2020-03-01'")),
    Case(where("DATE '2020-03-01' <= born - INTERVAL 1 YEAR")),
    Case(where("born + INTERVAL '1' MONTH > admitted"),
         where("date_diff('month', born, admitted) < 1")),
    Case("SELECT count(born + INTERVAL '1' DAY) FROM stays",
         "SELECT count(born) FROM stays"),
    Case(where("CASE WHEN urgent THEN 1 ELSE 'x' END = 'x'"),
         where("CASE WHEN urgent THEN CAST(1 AS VARCHAR) ELSE 'x' END = 'x'")),
    Case("SELECT count(*) FROM (SELECT " + " + ".join(["a"] * 20) + " AS b FROM (SELECT "
         + " + ".join(["c"] * 20) + " AS a FROM (SELECT " + " + ".join(["age"] * 20)
         + " AS c FROM stays) x) y) z WHERE b > 1",
         "SELECT count(*) FROM (SELECT 8000 * age AS b FROM stays) z WHERE b > 1"),
    Case(where("staays.age > 3"), where("stays.age > 3")),
    Case(where("agee > 3")),
    Case(where("nothing_like_it > 3"), where("age > 3")),
    Case("SELECT stays.ward FROM stays JOIN wards ON wards.ward = stays.ward GROUP BY ward "
         "HAVING count(*) > 10"),
    Case(where("replace(name, 'a', '" + "a" * 300 + "') = 'b'"), where("name = 'b'")),
    Case(where("count(*) > 5"), "SELECT count(*) FROM stays HAVING count(*) > 5"),
    Case(where("error('found')"), where("abs(age) > 1")),
    Case(where("lowr(name) = 'a'"), where("lower(name) = 'a'")),
    Case(where("regexp_matches(name, '(a+)+b')"), where("name LIKE '%ab%'")),
    Case(where("similar_to(name, 'a.*')"), where("name LIKE 'a%'")),
    Case(where("mod(age, weight) = 1"), where("age % CAST(weight AS BIGINT) = 1")),
    Case(where("now() > seen"), where("TIMESTAMP '2020-03-01 00:00:00' > seen")),
    Case(where("born < current_date"), where("born < DATE '2020-03-01'")),
    Case(where("seen < current_timestamp"), where("seen < TIMESTAMP '2020-03-01 00:00:00'")),
    Case(where("random() < 0.5"), where("age < 5")),
    Case(where("name COLLATE NOCASE = 'ann'"), where("lower(name) = 'ann'")),
    Case(where("name LIKE 'a!%' ESCAPE '!'"), where("starts_with(name, 'a%')")),
    Case(where("name SIMILAR TO 'a|b'"), where("name LIKE 'a' OR name LIKE 'b'")),
    Case(where("name ~ 'a'"), where("name LIKE '%a%'")),
    Case(where("INTERVAL '1' DAY IS NULL"), where("date_diff('day', born, admitted) IS NULL")),
    Case(where("sum(age) OVER () > 3"), ward("sum(age) > 3"), engine=DUCKDB),
    Case(where("age > (SELECT max(cap) FROM diseases)"),
         "SELECT count(*) FROM stays JOIN diseases d ON d.name = disease WHERE age > d.cap",
         engine=DUCKDB),
    Case(where("EXISTS (SELECT 1 FROM wards)"),
         "SELECT count(*) FROM stays JOIN wards ON wards.ward = stays.ward", engine=DUCKDB),
]  # fmt: skip

FROM = [
    Case("SELECT stays.ward FROM stays, wards GROUP BY stays.ward HAVING count(*) > 10"),
    Case("SELECT w.ward, count(*) FROM wards w LEFT JOIN stays s ON s.ward = w.ward "
         "GROUP BY w.ward"),
    Case("SELECT w.ward, count(*) FROM wards w LEFT JOIN stays s ON s.ward = w.ward "
         "GROUP BY w.ward",
         "SELECT w.ward, count(s.age) FROM wards w LEFT JOIN stays s ON s.ward = w.ward "
         "GROUP BY w.ward"),
    Case("SELECT count(*) FROM visitors NATURAL JOIN diseases",
         "SELECT count(*) FROM visitors JOIN diseases ON diseases.name = visitors.ward"),
    Case("SELECT count(*) FROM stays JOIN diseases USING (family)",
         "SELECT count(*) FROM stays JOIN diseases ON diseases.name = disease"),
    Case("SELECT count(*) FROM stays JOIN wards ON wards.ward = stays.age",
         "SELECT count(*) FROM stays JOIN wards ON wards.ward = CAST(stays.age AS VARCHAR)"),
    Case("SELECT count(*) FROM stays JOIN floors f ON f.site = stays.site AND f.floor = weight",
         "SELECT count(*) FROM stays JOIN floors f ON f.site = stays.site "
         "AND f.floor = CAST(weight AS SMALLINT)"),
    Case("SELECT stays.ward FROM stays FULL JOIN wards ON wards.ward = stays.ward "
         "GROUP BY stays.ward HAVING count(*) > 10",
         "SELECT stays.ward FROM stays LEFT JOIN wards ON wards.ward = stays.ward "
         "GROUP BY stays.ward HAVING count(*) > 10"),
    Case("SELECT stays.ward FROM stays LEFT JOIN wards ON wards.ward = stays.ward AND beds > 3 "
         "GROUP BY stays.ward HAVING count(*) > 10",
         "SELECT stays.ward FROM stays LEFT JOIN wards ON wards.ward = stays.ward "
         "WHERE beds > 3 GROUP BY stays.ward HAVING count(*) > 10"),
    Case("SELECT ward FROM 'stays.parquet' GROUP BY ward HAVING count(*) > 10",
         ward("count(*) > 10")),
    Case("SELECT count(*) FROM stay"),
    Case("SELECT count(*) FROM clinic.main.stays"),
    Case("SELECT count(*) FROM hr.stays"),
    Case("SELECT ward FROM read_csv('/etc/passwd') GROUP BY ward HAVING count(*) > 10",
         ward("count(*) > 10")),
    Case("SELECT ward FROM read_csv('/etc/passwd') GROUP BY ward HAVING count(*) > 10",
         ward("count(*) > 10"), engine=DUCKDB),
    Case("SELECT count(*) FROM stays a JOIN visitors b ON a.ward = b.ward",
         Granted(PUBLIC, JOINED, "SELECT count(*) FROM moved")),
    Case("SELECT count(*) FROM stays JOIN wards stays ON stays.ward = stays.ward",
         "SELECT count(*) FROM stays JOIN wards w ON w.ward = stays.ward"),
    Case("SELECT count(*) FROM stays JOIN (wards JOIN diseases ON name = hall) ON TRUE",
         "SELECT count(*) FROM stays JOIN wards ON wards.ward = stays.ward "
         "JOIN diseases ON diseases.name = disease"),
    Case("SELECT count(*) FROM (stays)", "SELECT count(*) FROM stays"),
    Case("SELECT ward FROM wards GROUP BY ward", ward("count(*) > 1"), engine=DUCKDB),
    Case("SELECT count(*)", "SELECT ward FROM stays GROUP BY ward", engine=DUCKDB),
    Case("SELECT ward FROM (SELECT ward FROM stays UNION ALL SELECT ward FROM stays) q "
         "GROUP BY ward HAVING count(*) > 10",
         "SELECT ward FROM (SELECT ward FROM stays WHERE urgent) q GROUP BY ward "
         "HAVING count(*) > 10"),
    Case("SELECT count(*) FROM (SELECT age + 1 FROM stays) q",
         "SELECT count(*) FROM (SELECT age + 1 AS next FROM stays) q"),
    Case("SELECT count(*) FROM (SELECT age, zone AS age FROM stays) q",
         "SELECT count(*) FROM (SELECT age, zone AS other FROM stays) q"),
    Case("SELECT count(*) FROM (SELECT max(age) AS m FROM stays) q",
         "SELECT max(age) FROM (SELECT age FROM stays) q", engine=DUCKDB),
    Case("WITH RECURSIVE r AS (SELECT * FROM stays) SELECT ward FROM r GROUP BY ward",
         "WITH r AS (SELECT * FROM stays WHERE urgent) SELECT ward FROM r GROUP BY ward",
         engine=DUCKDB),
    Case("WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r",
         "WITH r AS (SELECT age FROM stays WHERE urgent) SELECT max(age) FROM r"),
    Case("SELECT ward FROM (SELECT * FROM stays LIMIT 10) q GROUP BY ward HAVING count(*) > 10",
         "SELECT ward FROM (SELECT * FROM stays) q GROUP BY ward HAVING count(*) > 10"),
    Case("SELECT ward FROM (SELECT * FROM stays ORDER BY age) q GROUP BY ward",
         "SELECT ward FROM (SELECT * FROM stays) q GROUP BY ward"),
    Case("SELECT ward FROM (SELECT * FROM stays OFFSET 10) q GROUP BY ward",
         "SELECT ward FROM (SELECT * FROM stays) q GROUP BY ward"),
    Case(INNER.format("GROUP BY ward"), INNER.format(""), engine=DUCKDB),
    Case(INNER.format("HAVING TRUE"), INNER.format("WHERE TRUE"), engine=DUCKDB),
    Case(INNER.format("QUALIFY row_number() OVER () = 1"),
         INNER.format("") + " HAVING count(*) > 1"),
    Case(INNER.format("USING SAMPLE 10%"), INNER.format("")),
    Case(INNER.format("WINDOW w AS (ORDER BY age)"), INNER.format("")),
    Case(INNER.format("FOR UPDATE"), INNER.format("")),
    Case("SELECT ward, count(*) INTO x FROM stays GROUP BY ward", INNER.format("")),
    Case("SELECT w.ward FROM wards w WHERE EXISTS (SELECT 1 FROM stays s WHERE s.ward = w.ward "
         "LIMIT 0)",
         "SELECT w.ward FROM wards w WHERE EXISTS (SELECT 1 FROM stays s WHERE s.ward = w.ward)"),
    Case("SELECT ward FROM wards WHERE ward IN (SELECT ward FROM stays ORDER BY ward LIMIT 5)",
         "SELECT ward FROM wards WHERE ward IN "
         "(SELECT DISTINCT ward FROM stays ORDER BY ward LIMIT 5)"),
    Case("SELECT count(*) FROM stays JOIN diseases d ON d.name = disease "
         "WHERE d.cap > (SELECT avg(e.cap) FROM diseases e WHERE e.family = d.family)",
         "SELECT count(*) FROM stays JOIN diseases d ON d.name = disease "
         "WHERE d.cap > (SELECT avg(e.cap) FROM diseases e)"),
    Case(where("EXISTS (SELECT 1 FROM stays)"),
         where("(SELECT count(*) FROM stays) > 0")),
    Case(where("age > (SELECT avg(o.age) FROM stays o WHERE o.ward = stays.ward)"),
         where("ward IN (SELECT ward FROM stays GROUP BY ward HAVING avg(age) > 5)")),
    Case("SELECT count(*) FROM (SELECT DISTINCT name AS who FROM stays WHERE urgent) AS names"),
    Case("SELECT count(*) FROM (SELECT DISTINCT name AS who FROM stays WHERE urgent) AS names",
         "SELECT count(DISTINCT name) FROM stays WHERE urgent"),
]  # fmt: skip

BUSY = "WITH a AS (SELECT ward, count(*) AS n FROM stays GROUP BY ward) "
DOUBLED = ", ".join(
    f"a{i + 1} AS (SELECT x.ward FROM a{i} x JOIN a{i} y USING (ward))" for i in range(25)
)
LARGE = "(SELECT " + " + ".join(["age"] * 120) + " AS a FROM stays) q"
# Texts of a few lines that once took the time of 2^25 steps; each is refused or planned at once.
HOSTILE = [
    Case("WITH a0 AS (SELECT ward FROM wards), " + DOUBLED + " SELECT count(*) FROM stays "
         "WHERE ward IN (SELECT ward FROM a25)",
         "WITH a0 AS (SELECT ward FROM wards) SELECT count(*) FROM stays "
         "WHERE ward IN (SELECT ward FROM a0)"),
    Case(f"SELECT count(*) FROM {LARGE} WHERE " + " + ".join(["a"] * 200) + " > 1",
         f"SELECT count(*) FROM {LARGE} WHERE 200 * a > 1"),
    Case(f"SELECT count(*) FROM {LARGE} WHERE " + " OR ".join(f"a = {n}" for n in range(2000)),
         f"SELECT count(*) FROM {LARGE} WHERE a < 900"),
    Case(f"SELECT {', '.join(f'count_if(age = {n})' for n in range(501))} FROM stays",
         "SELECT floor(age / 2) * 2, count(*) FROM stays GROUP BY floor(age / 2) * 2"),
    Case(where(" + ".join(["age"] * 240) + " > 1"), where("240 * age > 1")),
    Case(where("width_bucket(" * 8 + "age" + ", 0, 9, 3)" * 8 + " > 1"),
         where("width_bucket(age, 0, 9, 3) > 1")),
]  # fmt: skip

RELEASED = [
    Case(where("age > (SELECT beds FROM wards)"), where("age > (SELECT beds FROM wards LIMIT 1)"),
         released=[1, 2]),
    Case("SELECT count(*), (SELECT max(beds) FROM wards) + count(*) FROM stays",
         "SELECT count(*), coalesce((SELECT max(beds) FROM wards), 0) + count(*) FROM stays",
         released=[None]),
    Case(ward("count(*) IN (SELECT beds FROM wards)"),
         ward("count(*) > (SELECT max(beds) FROM wards)"), released=list(range(20))),
    Case(ward("(count(*) IN (SELECT beds FROM wards)) = TRUE"),
         ward("count(*) > (SELECT max(beds) FROM wards)"), released=[1, 2]),
]  # fmt: skip

BLOCKS = [
    Case(BUSY + ", b AS (SELECT ward FROM a WHERE n > 5) SELECT count(*) FROM stays "
         "JOIN b USING (ward)",
         BUSY + "SELECT count(*) FROM stays WHERE ward IN (SELECT ward FROM a WHERE n > 5)"),
    Case(BUSY + "SELECT count(*) FROM stays JOIN (SELECT n FROM a) q ON q.n = age",
         BUSY + "SELECT count(*) FROM stays WHERE age IN (SELECT n FROM a)"),
    Case("WITH a AS (SELECT count(*) AS n FROM stays GROUP BY ward) "
         "SELECT count(*) FROM stays JOIN a ON a.n = age",
         "SELECT count(*) FROM stays WHERE age IN (SELECT count(*) FROM stays GROUP BY ward)"),
    Case("WITH stays AS (SELECT ward FROM wards) SELECT count(*) FROM stays",
         "WITH halls AS (SELECT ward FROM wards) SELECT count(*) FROM halls"),
    Case("WITH probe_sql_x AS (SELECT ward FROM wards) SELECT count(*) FROM probe_sql_x",
         "WITH x AS (SELECT ward FROM wards) SELECT count(*) FROM x"),
    Case("WITH x AS (SELECT 1 AS a), x AS (SELECT 2 AS a) SELECT a FROM x",
         "WITH x AS (SELECT 1 AS a), y AS (SELECT 2 AS a) SELECT a FROM x"),
    Case("WITH x (a) AS (SELECT * FROM stays) SELECT a, count(*) FROM x GROUP BY a",
         "WITH x AS (SELECT ward AS a FROM stays) SELECT a, count(*) FROM x GROUP BY a"),
    Case("SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 UNION ALL "
         "SELECT ward FROM stays",
         "SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 UNION ALL "
         "SELECT CAST(count(*) AS VARCHAR) FROM stays"),
    Case("SELECT n FROM (SELECT ward AS n FROM wards WITH ACCURACY (epsilon = 0.1)) w",
         "SELECT n FROM (SELECT count(*) AS n FROM stays WITH ACCURACY (epsilon = 0.1)) w"),
    Case("SELECT ward FROM (SELECT ward FROM stays WITH ACCURACY (epsilon = 0.1)) w GROUP BY ward",
         "SELECT ward FROM (SELECT ward FROM stays) w GROUP BY ward WITH ACCURACY (epsilon = 0.1)"),
    Case("SELECT n FROM (SELECT count(*) AS n FROM stays WITH ACCURACY (epsilon = 0.1) LIMIT 1) w",
         "SELECT n FROM (SELECT count(*) AS n FROM stays LIMIT 1 WITH ACCURACY (epsilon = 0.1)) w"),
    Case("SELECT count(*) FROM stays ORDER BY (SELECT max(beds) FROM wards)",
         "SELECT count(*), (SELECT max(beds) FROM wards) FROM stays"),
    Case(where("age > ANY (SELECT beds FROM wards)"),
         where("age > (SELECT max(beds) FROM wards)")),
    Case(where("age > ANY (SELECT beds FROM wards)"),
         where("age IN (SELECT beds FROM wards)")),
    Case(where("age > (SELECT ward, beds FROM wards)"),
         where("age > (SELECT beds FROM wards)")),
    Case(where("age > (SELECT INTERVAL 1 DAY)"),
         where("age > (SELECT CAST(5 AS INTEGER))")),
    Case("SELECT FROM stays", "SELECT count(*) FROM stays"),
    Case("SELECT pg_sleep(n) FROM (SELECT count(*) AS n FROM stays)",
         "SELECT abs(n) FROM (SELECT count(*) AS n FROM stays)"),
    Case("SELECT name, (SELECT count(*) FROM stays s WHERE s.disease = d.name AND "
         "s.age > length(d.name)) FROM diseases d",
         "SELECT name, (SELECT count(*) FROM stays s WHERE s.disease = d.name) FROM diseases d"),
    Case("SELECT nn + 1 FROM (SELECT count(*) AS n FROM stays)",
         "SELECT n + 1 FROM (SELECT count(*) AS n FROM stays)"),
    Case("SELECT sqrtt(n) FROM (SELECT count(*) AS n FROM stays)",
         "SELECT sqrt(n) FROM (SELECT count(*) AS n FROM stays)"),
    Case("SELECT * FROM (SELECT count(*) AS n FROM stays WITH ACCURACY (epsilon = 0.6)), "
         "(SELECT count(*) AS m FROM visitors) WITH ACCURACY (epsilon = 0.5)",
         "SELECT * FROM (SELECT count(*) AS n FROM stays WITH ACCURACY (epsilon = 0.6)), "
         "(SELECT count(*) AS m FROM visitors) WITH ACCURACY (epsilon = 1.2)"),
    Case("SELECT n + 1 FROM (SELECT count(*) AS n FROM stays) WITH ACCURACY (margin = (m = 5))",
         "SELECT n + 1 FROM (SELECT count(*) AS n FROM stays) WITH ACCURACY (margin = (n = 5))"),
]  # fmt: skip
