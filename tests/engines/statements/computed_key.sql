-- SELECT month(admitted) FROM stays GROUP BY month(admitted) HAVING count(*) > 5

-- DuckDB
WITH d AS (
  SELECT
    d0.o AS o,
    d0.k AS k0
  FROM (
    SELECT
      ROW_NUMBER() OVER (ORDER BY s.k) - 1 AS o,
      s.k AS k
    FROM (
      SELECT DISTINCT
        CAST(CAST(DATE_PART('month', CAST(b.k AS DATE)) AS BIGINT) AS BIGINT) AS k
      FROM (
        SELECT
          v.k
        FROM GENERATE_SERIES(
          CAST('2020-03-01 00:00:00' AS TIMESTAMP),
          CAST('2020-03-14 00:00:00' AS TIMESTAMP),
          INTERVAL '1' DAY
        ) AS v(k)
      ) AS b
      WHERE
        NOT CAST(CAST(DATE_PART('month', CAST(b.k AS DATE)) AS BIGINT) AS BIGINT) IS NULL
    ) AS s
  ) AS d0
), a AS (
  SELECT
    r.k0 AS k0,
    COUNT(*) AS n0,
    ROW_NUMBER() OVER () AS g
  FROM (
    SELECT
      TRY(CAST(CAST(DATE_PART('month', t."admitted") AS BIGINT) AS BIGINT)) AS k0
    FROM "stays" AS t
  ) AS r
  GROUP BY
    1
)
SELECT
  d.o AS o,
  a.g AS g,
  CAST(COALESCE(a.n0, 0) AS BIGINT) AS n0
FROM a
INNER JOIN d AS d
  ON a.k0 = d.k0;

-- PostgreSQL
WITH probe_sql_domain AS (
  SELECT
    CAST(u.c0 AS BIGINT) AS "o",
    CAST(u.c1 AS BIGINT) AS "k0"
  FROM UNNEST(CAST($1 AS TEXT[]), CAST($2 AS TEXT[])) AS u(c0, c1)
), a AS (
  SELECT
    r.k0 AS k0,
    COUNT(*) AS n0
  FROM (
    SELECT
      CAST(CAST(CASE
        WHEN ISFINITE(t."admitted") AND t."admitted" < CAST('294247-01-01' AS DATE)
        THEN CAST(DATE_PART('month', CAST(t."admitted" AS TIMESTAMP)) AS BIGINT)
        WHEN ISFINITE(t."admitted")
        THEN CAST(DATE_PART(
          'month',
          CAST((
            CAST('2000-01-01' AS DATE) + (
              (
                t."admitted" - CAST('2000-01-01' AS DATE)
              ) % 146097
            )
          ) AS TIMESTAMP)
        ) AS BIGINT)
      END AS BIGINT) AS BIGINT) AS k0
    FROM "stays" AS t
  ) AS r
  GROUP BY
    1
), b AS (
  SELECT
    a.k0 AS k0,
    MIN(d.o) AS o,
    MIN(a.n0) AS n0
  FROM a
  INNER JOIN probe_sql_domain AS d
    ON a.k0 = d.k0
  GROUP BY
    1
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
    COUNT(*) AS n0
  FROM (
    SELECT
      CAST(MONTH(t.`admitted`) AS BIGINT) AS k0
    FROM `stays` AS t
  ) AS r
  GROUP BY
    1
), b AS (
  SELECT
    a.k0 AS k0,
    MIN(d.o) AS o,
    MIN(a.n0) AS n0
  FROM a
  INNER JOIN probe_sql_domain AS d
    ON a.k0 = d.k0
  GROUP BY
    1
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
