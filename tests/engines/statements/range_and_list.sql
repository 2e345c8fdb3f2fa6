-- SELECT ward, zone FROM stays GROUP BY ward, zone HAVING avg(age) > 65

-- DuckDB
WITH d AS (
  SELECT
    ROW_NUMBER() OVER (ORDER BY d0.o, d1.o) - 1 AS o,
    d0.k AS k0,
    d1.k AS k1
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
  CROSS JOIN (
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
  ) AS d1
), a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    SUM(
      CASE
        WHEN r.v0 BETWEEN 0 AND 120
        THEN r.v0
        WHEN r.v0 > 120
        THEN 120
        WHEN r.v0 < 0
        THEN 0
      END
    ) AS n0,
    COUNT(r.p0) AS n1,
    ROW_NUMBER() OVER () AS g
  FROM (
    SELECT
      t."ward" AS k0,
      t."zone" AS k1,
      t."age" AS v0,
      t."age" AS p0
    FROM "stays" AS t
  ) AS r
  GROUP BY
    1,
    2
)
SELECT
  d.o AS o,
  a.g AS g,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(a.n0, 0), 4611686018427387904)) AS BIGINT) AS n0,
  CAST(COALESCE(a.n1, 0) AS BIGINT) AS n1
FROM a
INNER JOIN d AS d
  ON a.k0 = d.k0 AND a.k1 = d.k1;

-- PostgreSQL
WITH probe_sql_keys_0 AS (
  SELECT
    CAST(u.c0 AS BIGINT) AS "o",
    u.c1 COLLATE "C" AS "k0"
  FROM UNNEST(CAST($1 AS TEXT[]), CAST($2 AS TEXT[])) AS u(c0, c1)
), a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    SUM(
      CAST(CASE
        WHEN r.v0 BETWEEN 0 AND 120
        THEN r.v0
        WHEN r.v0 > 120
        THEN 120
        WHEN r.v0 < 0
        THEN 0
      END AS BIGINT)
    ) AS n0,
    COUNT(r.p0) AS n1
  FROM (
    SELECT
      t."ward" AS k0,
      t."zone" AS k1,
      t."age" AS v0,
      t."age" AS p0
    FROM "stays" AS t
  ) AS r
  GROUP BY
    1,
    2
), b AS (
  SELECT
    a.k0 AS k0,
    a.k1 AS k1,
    MIN(
      (
        d0.o * CAST(5 AS BIGINT)
      ) + CAST(CASE WHEN a.k1 >= 1 AND a.k1 <= 5 THEN CAST(a.k1 AS BIGINT) - CAST(1 AS BIGINT) END AS BIGINT)
    ) AS o,
    MIN(a.n0) AS n0,
    MIN(a.n1) AS n1
  FROM a
  INNER JOIN probe_sql_keys_0 AS d0
    ON (
      a.k0 COLLATE "C"
    ) = (
      d0.k0 COLLATE "C"
    )
  GROUP BY
    1,
    2
)
SELECT
  b.o AS o,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(SUM(b.n0), 0), 4611686018427387904)) AS BIGINT) AS n0,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(SUM(b.n1), 0), 4611686018427387904)) AS BIGINT) AS n1
FROM b
WHERE
  NOT b.o IS NULL
GROUP BY
  1;

-- Spark
WITH a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    COALESCE(
      SUM(
        CASE
          WHEN r.v0 BETWEEN 0L AND 120L
          THEN r.v0
          WHEN r.v0 > 120L
          THEN 120L
          WHEN r.v0 < 0L
          THEN 0L
        END
      ),
      0L
    ) AS n0,
    COUNT(r.p0) AS n1
  FROM (
    SELECT
      t.`ward` AS k0,
      t.`zone` AS k1,
      t.`age` AS v0,
      t.`age` AS p0
    FROM `stays` AS t
  ) AS r
  GROUP BY
    1,
    2
), b AS (
  SELECT
    a.k0 AS k0,
    a.k1 AS k1,
    MIN(
      d0.o * 5L + CASE WHEN a.k1 >= 1L AND a.k1 <= 5L THEN CAST(a.k1 AS BIGINT) - 1L END
    ) AS o,
    MIN(a.n0) AS n0,
    MIN(a.n1) AS n1
  FROM a
  INNER JOIN probe_sql_keys_0 AS d0
    ON a.k0 = d0.k0
  GROUP BY
    1,
    2
)
SELECT
  b.o AS o,
  CAST(GREATEST(
    -4611686018427387904L,
    LEAST(COALESCE(COALESCE(SUM(b.n0), 0L), 0L), 4611686018427387904L)
  ) AS BIGINT) AS n0,
  CAST(GREATEST(
    -4611686018427387904L,
    LEAST(COALESCE(COALESCE(SUM(b.n1), 0L), 0L), 4611686018427387904L)
  ) AS BIGINT) AS n1
FROM b
WHERE
  NOT b.o IS NULL
GROUP BY
  1;
