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
    FROM (
      SELECT
        t.*
      FROM (
        SELECT
          t.*
        FROM "stays" AS t
        WHERE
          TRY(t."age" > CAST('50' AS INT))
          AND t."ward" IN (
            SELECT
              d.k0
            FROM d AS d
          )
        QUALIFY
          t."zone" IS NULL
          OR DENSE_RANK() OVER (PARTITION BY t."zone" ORDER BY ROW(HASH(t.probe_sql_salt, t."ward"), t."ward")) <= 3
      ) AS t
      QUALIFY
        t."zone" IS NULL
        OR ROW_NUMBER() OVER (
          PARTITION BY t."zone", t."ward"
          ORDER BY ROW(
            HASH(t.probe_sql_salt, t."ward", t."age", t."site", t."floor_no"),
            t."ward",
            t."age",
            t."site",
            t."floor_no"
          )
        ) <= 2
    ) AS t
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
    FROM (
      SELECT
        t.*
      FROM (
        SELECT
          t.*,
          t."zone" IS NULL
          OR (
            ROW_NUMBER() OVER (
              PARTITION BY t."zone", t."ward"
              ORDER BY HASHTEXTEXTENDED(
                CAST(ROW(t.probe_sql_salt, t."ward", t."age", t."site", t."floor_no") AS TEXT) COLLATE "C",
                0
              ), CAST(ROW(t."ward", t."age", t."site", t."floor_no") AS TEXT) COLLATE "C"
            )
          ) <= 2 AS probe_sql_kept2
        FROM (
          SELECT
            t.*
          FROM (
            SELECT
              t.*,
              t."zone" IS NULL
              OR (
                DENSE_RANK() OVER (
                  PARTITION BY t."zone"
                  ORDER BY HASHTEXTEXTENDED(CAST(ROW(t.probe_sql_salt, t."ward") AS TEXT) COLLATE "C", 0), CAST(ROW(t."ward") AS TEXT) COLLATE "C"
                )
              ) <= 3 AS probe_sql_kept1
            FROM "stays" AS t
            WHERE
              t."age" > CAST('50' AS INT)
              AND (
                t."ward" COLLATE "C"
              ) IN (
                SELECT
                  d.k0
                FROM probe_sql_domain AS d
              )
          ) AS t
          WHERE
            t.probe_sql_kept1
        ) AS t
      ) AS t
      WHERE
        t.probe_sql_kept2
    ) AS t
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
    FROM (
      SELECT
        *
      FROM (
        SELECT
          t.*,
          ROW_NUMBER() OVER (
            PARTITION BY t.`zone`, t.`ward`, CASE
              WHEN t.`zone` IS NULL
              THEN XXHASH64(t.probe_sql_salt, t.`ward`, t.`age`, t.`site`, t.`floor_no`)
            END
            ORDER BY XXHASH64(t.probe_sql_salt, t.`ward`, t.`age`, t.`site`, t.`floor_no`) NULLS LAST, t.`ward` NULLS LAST, t.`age` NULLS LAST, t.`site` NULLS LAST, t.`floor_no` NULLS LAST
          ) AS probe_sql_row_number2
        FROM (
          SELECT
            *
          FROM (
            SELECT
              t.*,
              DENSE_RANK() OVER (
                PARTITION BY t.`zone`, CASE WHEN t.`zone` IS NULL THEN XXHASH64(t.probe_sql_salt, t.`ward`) END
                ORDER BY XXHASH64(t.probe_sql_salt, t.`ward`) NULLS LAST, t.`ward` NULLS LAST
              ) AS probe_sql_row_number1
            FROM `stays` AS t
            WHERE
              t.`age` > CAST('50' AS INT)
              AND t.`ward` IN (
                SELECT
                  d.k0
                FROM probe_sql_domain AS d
              )
          ) AS t
          WHERE
            t.`zone` IS NULL OR t.probe_sql_row_number1 <= 3L
        ) AS t
      ) AS t
      WHERE
        t.`zone` IS NULL OR t.probe_sql_row_number2 <= 2L
    ) AS t
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
