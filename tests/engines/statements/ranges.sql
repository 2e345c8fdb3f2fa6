-- SELECT zone, admitted FROM stays GROUP BY zone, admitted HAVING count(*) > 5

-- DuckDB
WITH d AS (
  SELECT
    ROW_NUMBER() OVER (ORDER BY d0.o, d1.o) - 1 AS o,
    d0.k AS k0,
    d1.k AS k1
  FROM (
    SELECT
      ROW_NUMBER() OVER (ORDER BY s.k) - 1 AS o,
      s.k AS k
    FROM (
      SELECT DISTINCT
        CAST(b.k AS INT) AS k
      FROM (
        SELECT
          v.k
        FROM GENERATE_SERIES(1, 5, 1) AS v(k)
      ) AS b
      WHERE
        NOT CAST(b.k AS INT) IS NULL
    ) AS s
  ) AS d0
  CROSS JOIN (
    SELECT
      ROW_NUMBER() OVER (ORDER BY s.k) - 1 AS o,
      s.k AS k
    FROM (
      SELECT DISTINCT
        CAST(b.k AS DATE) AS k
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
        NOT CAST(b.k AS DATE) IS NULL
    ) AS s
  ) AS d1
), a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    COUNT(*) AS n0,
    ROW_NUMBER() OVER () AS g
  FROM (
    SELECT
      t."zone" AS k0,
      t."admitted" AS k1
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
WITH a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t."zone" AS k0,
      t."admitted" AS k1
    FROM "stays" AS t
  ) AS r
  GROUP BY
    1,
    2
), b AS (
  SELECT
    a.k0 AS k0,
    a.k1 AS k1,
    (
      CAST(CASE WHEN a.k0 >= 1 AND a.k0 <= 5 THEN CAST(a.k0 AS BIGINT) - CAST(1 AS BIGINT) END AS BIGINT) * CAST(14 AS BIGINT)
    ) + CAST(CASE
      WHEN a.k1 >= CAST('2020-03-01' AS DATE) AND a.k1 <= CAST('2020-03-14' AS DATE)
      THEN CASE
        WHEN ISFINITE(
          CASE
            WHEN CAST('2020-03-01' AS DATE) <= CAST('294247-01-10' AS DATE)
            OR CAST('2020-03-01' AS DATE) = CAST('infinity' AS DATE)
            THEN CAST(CAST('2020-03-01' AS DATE) AS TIMESTAMP)
          END
        )
        AND ISFINITE(
          CASE
            WHEN a.k1 <= CAST('294247-01-10' AS DATE) OR a.k1 = CAST('infinity' AS DATE)
            THEN CAST(a.k1 AS TIMESTAMP)
          END
        )
        THEN CAST((
          CAST(CASE
            WHEN a.k1 <= CAST('294247-01-10' AS DATE) OR a.k1 = CAST('infinity' AS DATE)
            THEN CAST(a.k1 AS TIMESTAMP)
          END AS DATE) - CAST(CASE
            WHEN CAST('2020-03-01' AS DATE) <= CAST('294247-01-10' AS DATE)
            OR CAST('2020-03-01' AS DATE) = CAST('infinity' AS DATE)
            THEN CAST(CAST('2020-03-01' AS DATE) AS TIMESTAMP)
          END AS DATE)
        ) AS BIGINT)
      END
    END AS BIGINT) AS o,
    a.n0 AS n0
  FROM a
)
SELECT
  b.o AS o,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(b.n0, 0), 4611686018427387904)) AS BIGINT) AS n0
FROM b
WHERE
  NOT b.o IS NULL;

-- Spark
WITH a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t.`zone` AS k0,
      t.`admitted` AS k1
    FROM `stays` AS t
  ) AS r
  GROUP BY
    1,
    2
), b AS (
  SELECT
    a.k0 AS k0,
    a.k1 AS k1,
    CASE WHEN a.k0 >= 1L AND a.k0 <= 5L THEN CAST(a.k0 AS BIGINT) - 1L END * 14L + CASE
      WHEN a.k1 >= CAST('2020-03-01' AS DATE) AND a.k1 <= CAST('2020-03-14' AS DATE)
      THEN CAST(DATEDIFF(
        CAST(CAST(CASE
          WHEN UNIX_DATE(a.k1) >= -106751991 AND UNIX_DATE(a.k1) <= 106751991
          THEN a.k1
        END AS TIMESTAMP_NTZ) AS DATE),
        CAST(CAST(CASE
          WHEN UNIX_DATE(CAST('2020-03-01' AS DATE)) >= -106751991
          AND UNIX_DATE(CAST('2020-03-01' AS DATE)) <= 106751991
          THEN CAST('2020-03-01' AS DATE)
        END AS TIMESTAMP_NTZ) AS DATE)
      ) AS BIGINT)
    END AS o,
    a.n0 AS n0
  FROM a
)
SELECT
  b.o AS o,
  GREATEST(-4611686018427387904L, LEAST(COALESCE(b.n0, 0L), 4611686018427387904L)) AS n0
FROM b
WHERE
  NOT b.o IS NULL;
