-- SELECT site, floor_no FROM stays GROUP BY site, floor_no HAVING count(*) > 5

-- DuckDB
WITH d AS (
  SELECT
    ROW_NUMBER() OVER (ORDER BY s.k0, s.k1) - 1 AS o,
    s.k0,
    s.k1
  FROM (
    SELECT DISTINCT
      TRY_CAST(x."site" AS TEXT) AS k0,
      TRY_CAST(x."floor" AS SMALLINT) AS k1
    FROM "floors" AS x
    WHERE
      NOT TRY_CAST(x."site" AS TEXT) IS NULL
      AND NOT TRY_CAST(x."floor" AS SMALLINT) IS NULL
  ) AS s
), a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    COUNT(*) AS n0,
    ROW_NUMBER() OVER () AS g
  FROM (
    SELECT
      t."site" AS k0,
      t."floor_no" AS k1
    FROM "stays" AS t
  ) AS r
  GROUP BY
    1,
    2
)
SELECT
  d.o AS o,
  a.g AS g,
  CAST(COALESCE(a.n0, 0) AS BIGINT) AS n0
FROM a
INNER JOIN d AS d
  ON a.k0 = d.k0 AND a.k1 = d.k1;

-- PostgreSQL
WITH probe_sql_domain AS (
  SELECT
    CAST(u.c0 AS BIGINT) AS "o",
    u.c1 COLLATE "C" AS "k0",
    CAST(u.c2 AS SMALLINT) AS "k1"
  FROM UNNEST(CAST($1 AS TEXT[]), CAST($2 AS TEXT[]), CAST($3 AS TEXT[])) AS u(c0, c1, c2)
), a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t."site" AS k0,
      t."floor_no" AS k1
    FROM "stays" AS t
  ) AS r
  GROUP BY
    1,
    2
), b AS (
  SELECT
    a.k0 AS k0,
    a.k1 AS k1,
    MIN(d.o) AS o,
    MIN(a.n0) AS n0
  FROM a
  INNER JOIN probe_sql_domain AS d
    ON (
      a.k0 COLLATE "C"
    ) = (
      d.k0 COLLATE "C"
    ) AND a.k1 = d.k1
  GROUP BY
    1,
    2
)
SELECT
  b.o AS o,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(SUM(b.n0), 0), 4611686018427387904)) AS BIGINT) AS n0
FROM b
GROUP BY
  1;

-- Spark
WITH a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t.`site` AS k0,
      t.`floor_no` AS k1
    FROM `stays` AS t
  ) AS r
  GROUP BY
    1,
    2
), b AS (
  SELECT
    a.k0 AS k0,
    a.k1 AS k1,
    MIN(d.o) AS o,
    MIN(a.n0) AS n0
  FROM a
  INNER JOIN probe_sql_domain AS d
    ON a.k0 = d.k0 AND a.k1 = d.k1
  GROUP BY
    1,
    2
)
SELECT
  b.o AS o,
  CAST(GREATEST(
    -4611686018427387904L,
    LEAST(COALESCE(COALESCE(SUM(b.n0), 0L), 0L), 4611686018427387904L)
  ) AS BIGINT) AS n0
FROM b
GROUP BY
  1;
