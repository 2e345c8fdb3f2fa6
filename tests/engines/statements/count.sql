-- SELECT ward FROM stays WHERE age > 50 GROUP BY ward HAVING count(*) > 5

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
    COUNT(*) AS n0,
    ROW_NUMBER() OVER () AS g
  FROM (
    SELECT
      t."ward" AS k0
    FROM "stays" AS t
    WHERE
      t."age" > CAST('50' AS INT)
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
    u.c1 COLLATE "C" AS "k0"
  FROM UNNEST(CAST($1 AS TEXT[]), CAST($2 AS TEXT[])) AS u(c0, c1)
), a AS (
  SELECT
    r.k0 AS k0,
    COUNT(*) AS n0
  FROM (
    SELECT
      t."ward" AS k0
    FROM "stays" AS t
    WHERE
      t."age" > CAST('50' AS INT)
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
    COUNT(*) AS n0
  FROM (
    SELECT
      t.`ward` AS k0
    FROM `stays` AS t
    WHERE
      t.`age` > CAST('50' AS INT)
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
