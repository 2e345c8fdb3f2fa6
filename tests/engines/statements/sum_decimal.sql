-- SELECT ward FROM stays  GROUP BY ward HAVING sum(cost) > 65

-- DuckDB
WITH d AS (
  SELECT
    d0.o AS o,
    d0.k AS k0
  FROM (
    SELECT
      b.o AS o,
      CAST(b.k AS TEXT) AS k
    FROM (
      SELECT
        v.o,
        v.k
      FROM (VALUES
        (0, 'A'),
        (1, 'B'),
        (2, 'C')) AS v(o, k)
    ) AS b
  ) AS d0
), a AS (
  SELECT
    r.k0 AS k0,
    CAST(CAST(SUM(
      CASE
        WHEN r.v0 BETWEEN CAST('0.00' AS DECIMAL(10, 2)) AND CAST('10000.00' AS DECIMAL(10, 2))
        THEN r.v0
        WHEN r.v0 > CAST('10000.00' AS DECIMAL(10, 2))
        THEN CAST('10000.00' AS DECIMAL(10, 2))
        WHEN r.v0 < CAST('0.00' AS DECIMAL(10, 2))
        THEN CAST('0.00' AS DECIMAL(10, 2))
      END
    ) AS DECIMAL(28, 2)) * CAST('100' AS DECIMAL(3, 0)) AS INT128) AS n0,
    ROW_NUMBER() OVER () AS g
  FROM (
    SELECT
      t."ward" AS k0,
      t."cost" AS v0
    FROM "stays" AS t
  ) AS r
  GROUP BY
    1
)
SELECT
  d.o AS o,
  a.g AS g,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(a.n0, 0), 4611686018427387904)) AS BIGINT) AS n0
FROM a
INNER JOIN d AS d
  ON a.k0 = d.k0;

-- PostgreSQL
WITH probe_sql_domain AS (
  SELECT
    CAST(u.c0 AS BIGINT) AS "o",
    u.c1 COLLATE "C" AS "k0"
  FROM UNNEST(CAST($1 AS TEXT[]), CAST($2 AS TEXT[])) AS u(c0, c1)
), a AS (
  SELECT
    r.k0 AS k0,
    CAST(CAST(SUM(
      CASE
        WHEN r.v0 BETWEEN CAST('0.00' AS DECIMAL(10, 2)) AND CAST('10000.00' AS DECIMAL(10, 2))
        THEN r.v0
        WHEN r.v0 > CAST('10000.00' AS DECIMAL(10, 2))
        THEN CAST('10000.00' AS DECIMAL(10, 2))
        WHEN r.v0 < CAST('0.00' AS DECIMAL(10, 2))
        THEN CAST('0.00' AS DECIMAL(10, 2))
      END
    ) AS DECIMAL(28, 2)) * CAST('100' AS DECIMAL(3, 0)) AS DECIMAL) AS n0
  FROM (
    SELECT
      t."ward" AS k0,
      t."cost" AS v0
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
    ON (
      a.k0 COLLATE "C"
    ) = (
      d.k0 COLLATE "C"
    )
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
    TRY_CAST(ROUND(
      CAST(COALESCE(
        SUM(
          CAST(CASE
            WHEN r.v0 BETWEEN CAST('0.00' AS DECIMAL(10, 2)) AND CAST('10000.00' AS DECIMAL(10, 2))
            THEN CAST(r.v0 AS DECIMAL(10, 2))
            WHEN CAST(r.v0 AS DECIMAL(10, 2)) > CAST(CAST('10000.00' AS DECIMAL(10, 2)) AS DECIMAL(10, 2))
            THEN CAST(CAST('10000.00' AS DECIMAL(10, 2)) AS DECIMAL(10, 2))
            WHEN CAST(r.v0 AS DECIMAL(10, 2)) < CAST(CAST('0.00' AS DECIMAL(10, 2)) AS DECIMAL(10, 2))
            THEN CAST(CAST('0.00' AS DECIMAL(10, 2)) AS DECIMAL(10, 2))
          END AS DECIMAL(10, 2))
        ),
        0L
      ) AS DECIMAL(28, 2)) * CAST('100' AS DECIMAL(3, 0))
    ) AS DECIMAL(38, 0)) AS n0
  FROM (
    SELECT
      t.`ward` AS k0,
      t.`cost` AS v0
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
