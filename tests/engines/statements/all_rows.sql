-- SELECT count(*), avg(age) FROM stays WHERE urgent

-- DuckDB
WITH d AS (
  SELECT
    d0.o AS o,
    d0.k AS k0
  FROM (
    SELECT
      b.o AS o,
      CAST(b.k AS BIGINT) AS k
    FROM (
      SELECT
        v.o,
        v.k
      FROM (VALUES
        (0, 1)) AS v(o, k)
    ) AS b
  ) AS d0
), a AS (
  SELECT
    r.k0 AS k0,
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
    COUNT(*) AS n2,
    ROW_NUMBER() OVER () AS g
  FROM (
    SELECT
      TRY(CAST(CAST('1' AS BIGINT) AS BIGINT)) AS k0,
      t."age" AS v0,
      t."age" AS p0
    FROM "stays" AS t
    WHERE
      t."urgent"
  ) AS r
  GROUP BY
    1
)
SELECT
  d.o AS o,
  a.g AS g,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(a.n0, 0), 4611686018427387904)) AS BIGINT) AS n0,
  CAST(COALESCE(a.n1, 0) AS BIGINT) AS n1,
  CAST(COALESCE(a.n2, 0) AS BIGINT) AS n2
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
    COUNT(r.p0) AS n1,
    COUNT(*) AS n2
  FROM (
    SELECT
      CAST(CAST('1' AS BIGINT) AS BIGINT) AS k0,
      t."age" AS v0,
      t."age" AS p0
    FROM "stays" AS t
    WHERE
      t."urgent"
  ) AS r
  GROUP BY
    1
), b AS (
  SELECT
    a.k0 AS k0,
    MIN(d.o) AS o,
    MIN(a.n0) AS n0,
    MIN(a.n1) AS n1,
    MIN(a.n2) AS n2
  FROM a
  INNER JOIN probe_sql_domain AS d
    ON a.k0 = d.k0
  GROUP BY
    1
)
SELECT
  b.o AS o,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(SUM(b.n0), 0), 4611686018427387904)) AS BIGINT) AS n0,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(SUM(b.n1), 0), 4611686018427387904)) AS BIGINT) AS n1,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(SUM(b.n2), 0), 4611686018427387904)) AS BIGINT) AS n2
FROM b
GROUP BY
  1;

-- Spark
WITH a AS (
  SELECT
    r.k0 AS k0,
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
    COUNT(r.p0) AS n1,
    COUNT(*) AS n2
  FROM (
    SELECT
      CAST('1' AS BIGINT) AS k0,
      t.`age` AS v0,
      t.`age` AS p0
    FROM `stays` AS t
    WHERE
      t.`urgent`
  ) AS r
  GROUP BY
    1
), b AS (
  SELECT
    a.k0 AS k0,
    MIN(d.o) AS o,
    MIN(a.n0) AS n0,
    MIN(a.n1) AS n1,
    MIN(a.n2) AS n2
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
  ) AS BIGINT) AS n0,
  CAST(GREATEST(
    -4611686018427387904L,
    LEAST(COALESCE(COALESCE(SUM(b.n1), 0L), 0L), 4611686018427387904L)
  ) AS BIGINT) AS n1,
  CAST(GREATEST(
    -4611686018427387904L,
    LEAST(COALESCE(COALESCE(SUM(b.n2), 0L), 0L), 4611686018427387904L)
  ) AS BIGINT) AS n2
FROM b
GROUP BY
  1;
