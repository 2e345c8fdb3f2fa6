-- SELECT ward FROM stays  GROUP BY ward HAVING sum(weight) > 65

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
    CASE
      WHEN COUNT(*) <= 4294967296
      THEN (
        CAST(SUM(
          CASE
            WHEN r.v0 BETWEEN CAST('-2251799813685248.0' AS DOUBLE) AND CAST('2251799813685248.0' AS DOUBLE)
            THEN ABS(r.v0) - ABS(r.v0 - CAST('3000.0' AS DOUBLE))
            WHEN r.v0 > CAST('2251799813685248.0' AS DOUBLE)
            THEN CAST('3000.0' AS DOUBLE)
            WHEN r.v0 < CAST('-2251799813685248.0' AS DOUBLE)
            THEN CAST('-3000.0' AS DOUBLE)
          END
        ) AS BIGINT) + 3000 * COUNT(r.p0)
      ) // 2
      ELSE CAST(ERROR('too many rows') AS BIGINT)
    END AS n0,
    ROW_NUMBER() OVER () AS g
  FROM (
    SELECT
      t."ward" AS k0,
      ROUND(t."weight" * CAST('10.0' AS DOUBLE)) AS v0,
      t."weight" AS p0
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
    SUM(
      CAST(CASE
        WHEN r.v0 BETWEEN 0 AND 3000
        THEN CAST(r.v0 AS BIGINT)
        WHEN r.v0 > 3000
        THEN 3000
        WHEN r.v0 < 0
        THEN 0
      END AS BIGINT)
    ) AS n0
  FROM (
    SELECT
      t."ward" AS k0,
      TRUNC(
        (
          (
            CASE
              WHEN t."weight" < CAST('0.0' AS DOUBLE PRECISION)
              THEN CAST('0.0' AS DOUBLE PRECISION)
              WHEN t."weight" > CAST('300.0' AS DOUBLE PRECISION)
              THEN CAST('300.0' AS DOUBLE PRECISION)
              ELSE t."weight"
            END
          ) * CAST('10.0' AS DOUBLE PRECISION)
        ) + (
          SIGN(
            (
              CASE
                WHEN t."weight" < CAST('0.0' AS DOUBLE PRECISION)
                THEN CAST('0.0' AS DOUBLE PRECISION)
                WHEN t."weight" > CAST('300.0' AS DOUBLE PRECISION)
                THEN CAST('300.0' AS DOUBLE PRECISION)
                ELSE t."weight"
              END
            ) * CAST('10.0' AS DOUBLE PRECISION)
          ) * CAST('0.49999999999999994' AS DOUBLE PRECISION)
        )
      ) AS v0
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
    COALESCE(
      SUM(
        CASE
          WHEN r.v0 BETWEEN 0L AND 3000L
          THEN TRY_CAST(NULLIF(RINT(r.v0), CAST('9.223372036854776e+18' AS DOUBLE)) AS BIGINT)
          WHEN r.v0 > 3000L
          THEN 3000L
          WHEN r.v0 < 0L
          THEN 0L
        END
      ),
      0L
    ) AS n0
  FROM (
    SELECT
      t.`ward` AS k0,
      CAST(TRY_CAST((
        (
          CASE
            WHEN t.`weight` < CAST('0.0' AS DOUBLE)
            THEN CAST('0.0' AS DOUBLE)
            WHEN t.`weight` > CAST('300.0' AS DOUBLE)
            THEN CAST('300.0' AS DOUBLE)
            ELSE t.`weight`
          END
        ) * CAST('10.0' AS DOUBLE)
      ) + SIGNUM(
        (
          (
            CASE
              WHEN t.`weight` < CAST('0.0' AS DOUBLE)
              THEN CAST('0.0' AS DOUBLE)
              WHEN t.`weight` > CAST('300.0' AS DOUBLE)
              THEN CAST('300.0' AS DOUBLE)
              ELSE t.`weight`
            END
          ) * CAST('10.0' AS DOUBLE)
        )
      ) * CAST('0.49999999999999994' AS DOUBLE) AS BIGINT) AS DOUBLE) AS v0
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
