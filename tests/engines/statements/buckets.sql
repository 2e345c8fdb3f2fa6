-- SELECT floor(weight / 10) * 10 AS b, count(*) FROM stays GROUP BY b

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
        CAST(CAST(b.k AS DOUBLE) * CAST('10.0' AS DOUBLE) AS DOUBLE) AS k
      FROM (
        SELECT
          v.k
        FROM GENERATE_SERIES(-1, 31, 1) AS v(k)
      ) AS b
      WHERE
        NOT CAST(CAST(b.k AS DOUBLE) * CAST('10.0' AS DOUBLE) AS DOUBLE) IS NULL
        AND CAST(b.k AS DOUBLE) BETWEEN LEAST(
          FLOOR(
            (
              (
                CASE
                  WHEN CAST('0.0' AS DOUBLE) < CAST('0.0' AS DOUBLE)
                  THEN CAST('0.0' AS DOUBLE)
                  WHEN CAST('0.0' AS DOUBLE) > CAST('300.0' AS DOUBLE)
                  THEN CAST('300.0' AS DOUBLE)
                  ELSE CAST('0.0' AS DOUBLE)
                END
              ) / CAST('10.0' AS DOUBLE)
            )
          ),
          FLOOR(
            (
              (
                CASE
                  WHEN CAST('300.0' AS DOUBLE) < CAST('0.0' AS DOUBLE)
                  THEN CAST('0.0' AS DOUBLE)
                  WHEN CAST('300.0' AS DOUBLE) > CAST('300.0' AS DOUBLE)
                  THEN CAST('300.0' AS DOUBLE)
                  ELSE CAST('300.0' AS DOUBLE)
                END
              ) / CAST('10.0' AS DOUBLE)
            )
          )
        ) AND GREATEST(
          FLOOR(
            (
              (
                CASE
                  WHEN CAST('0.0' AS DOUBLE) < CAST('0.0' AS DOUBLE)
                  THEN CAST('0.0' AS DOUBLE)
                  WHEN CAST('0.0' AS DOUBLE) > CAST('300.0' AS DOUBLE)
                  THEN CAST('300.0' AS DOUBLE)
                  ELSE CAST('0.0' AS DOUBLE)
                END
              ) / CAST('10.0' AS DOUBLE)
            )
          ),
          FLOOR(
            (
              (
                CASE
                  WHEN CAST('300.0' AS DOUBLE) < CAST('0.0' AS DOUBLE)
                  THEN CAST('0.0' AS DOUBLE)
                  WHEN CAST('300.0' AS DOUBLE) > CAST('300.0' AS DOUBLE)
                  THEN CAST('300.0' AS DOUBLE)
                  ELSE CAST('300.0' AS DOUBLE)
                END
              ) / CAST('10.0' AS DOUBLE)
            )
          )
        )
    ) AS s
  ) AS d0
), a AS (
  SELECT
    r.k0 AS k0,
    COUNT(*) AS n0,
    ROW_NUMBER() OVER () AS g
  FROM (
    SELECT
      TRY(
        CAST(FLOOR(
          (
            (
              CASE
                WHEN t."weight" < CAST('0.0' AS DOUBLE)
                THEN CAST('0.0' AS DOUBLE)
                WHEN t."weight" > CAST('300.0' AS DOUBLE)
                THEN CAST('300.0' AS DOUBLE)
                ELSE t."weight"
              END
            ) / CAST('10.0' AS DOUBLE)
          )
        ) * CAST('10.0' AS DOUBLE) AS DOUBLE)
      ) AS k0
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
    CAST(u.c1 AS DOUBLE PRECISION) AS "k0"
  FROM UNNEST(CAST($1 AS TEXT[]), CAST($2 AS TEXT[])) AS u(c0, c1)
), a AS (
  SELECT
    r.k0 AS k0,
    COUNT(*) AS n0
  FROM (
    SELECT
      CAST(FLOOR(
        (
          CASE
            WHEN ABS(
              (
                CASE
                  WHEN t."weight" < CAST('0.0' AS DOUBLE PRECISION)
                  THEN CAST('0.0' AS DOUBLE PRECISION)
                  WHEN t."weight" > CAST('300.0' AS DOUBLE PRECISION)
                  THEN CAST('300.0' AS DOUBLE PRECISION)
                  ELSE t."weight"
                END
              )
            ) <= CAST('2.5e-323' AS DOUBLE PRECISION)
            THEN (
              CASE
                WHEN t."weight" < CAST('0.0' AS DOUBLE PRECISION)
                THEN CAST('0.0' AS DOUBLE PRECISION)
                WHEN t."weight" > CAST('300.0' AS DOUBLE PRECISION)
                THEN CAST('300.0' AS DOUBLE PRECISION)
                ELSE t."weight"
              END
            ) * CAST('0.0' AS DOUBLE PRECISION)
            ELSE (
              CASE
                WHEN t."weight" < CAST('0.0' AS DOUBLE PRECISION)
                THEN CAST('0.0' AS DOUBLE PRECISION)
                WHEN t."weight" > CAST('300.0' AS DOUBLE PRECISION)
                THEN CAST('300.0' AS DOUBLE PRECISION)
                ELSE t."weight"
              END
            ) / CAST('10.0' AS DOUBLE PRECISION)
          END
        )
      ) * CAST('10.0' AS DOUBLE PRECISION) AS DOUBLE PRECISION) AS k0
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
      (
        RINT(
          (
            (
              CASE
                WHEN t.`weight` < CAST('0.0' AS DOUBLE)
                THEN CAST('0.0' AS DOUBLE)
                WHEN t.`weight` > CAST('300.0' AS DOUBLE)
                THEN CAST('300.0' AS DOUBLE)
                ELSE t.`weight`
              END
            ) / CAST('10.0' AS DOUBLE)
          )
        ) - CAST((
          RINT(
            (
              (
                CASE
                  WHEN t.`weight` < CAST('0.0' AS DOUBLE)
                  THEN CAST('0.0' AS DOUBLE)
                  WHEN t.`weight` > CAST('300.0' AS DOUBLE)
                  THEN CAST('300.0' AS DOUBLE)
                  ELSE t.`weight`
                END
              ) / CAST('10.0' AS DOUBLE)
            )
          ) > (
            (
              (
                CASE
                  WHEN t.`weight` < CAST('0.0' AS DOUBLE)
                  THEN CAST('0.0' AS DOUBLE)
                  WHEN t.`weight` > CAST('300.0' AS DOUBLE)
                  THEN CAST('300.0' AS DOUBLE)
                  ELSE t.`weight`
                END
              ) / CAST('10.0' AS DOUBLE)
            )
          )
        ) AS DOUBLE)
      ) * CAST('10.0' AS DOUBLE) AS k0
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
