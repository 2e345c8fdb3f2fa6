-- SELECT zone, ward FROM stays GROUP BY zone, ward HAVING count(*) > 5

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
      t."ward" AS k1
    FROM (
      SELECT
        t.*
      FROM "stays" AS t
      WHERE
        (t."zone", t."ward") IN (
          SELECT
            d.k0,
            d.k1
          FROM d AS d
        )
      QUALIFY
        t."age" IS NULL
        OR DENSE_RANK() OVER (
          PARTITION BY t."age"
          ORDER BY ROW(HASH(t.probe_sql_salt, t."zone", t."ward"), t."zone", t."ward")
        ) <= 3
    ) AS t
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
WITH probe_sql_keys_1 AS (
  SELECT
    CAST(u.c0 AS BIGINT) AS "o",
    u.c1 COLLATE "C" AS "k1"
  FROM UNNEST(CAST($1 AS TEXT[]), CAST($2 AS TEXT[])) AS u(c0, c1)
), a AS (
  SELECT
    r.k0 AS k0,
    r.k1 AS k1,
    COUNT(*) AS n0
  FROM (
    SELECT
      t."zone" AS k0,
      t."ward" AS k1
    FROM (
      SELECT
        t.*
      FROM (
        SELECT
          t.*,
          t."age" IS NULL
          OR (
            DENSE_RANK() OVER (
              PARTITION BY t."age"
              ORDER BY HASHTEXTEXTENDED(CAST(ROW(t.probe_sql_salt, t."zone", t."ward") AS TEXT) COLLATE "C", 0), CAST(ROW(t."zone", t."ward") AS TEXT) COLLATE "C"
            )
          ) <= 3 AS probe_sql_kept1
        FROM "stays" AS t
        WHERE
          t."zone" >= 1
          AND t."zone" <= 5
          AND (
            t."ward" COLLATE "C"
          ) IN (
            SELECT
              d1.k1
            FROM probe_sql_keys_1 AS d1
          )
      ) AS t
      WHERE
        t.probe_sql_kept1
    ) AS t
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
        CAST(CASE WHEN a.k0 >= 1 AND a.k0 <= 5 THEN CAST(a.k0 AS BIGINT) - CAST(1 AS BIGINT) END AS BIGINT) * CAST(3 AS BIGINT)
      ) + d1.o
    ) AS o,
    MIN(a.n0) AS n0
  FROM a
  INNER JOIN probe_sql_keys_1 AS d1
    ON (
      a.k1 COLLATE "C"
    ) = (
      d1.k1 COLLATE "C"
    )
  GROUP BY
    1,
    2
)
SELECT
  b.o AS o,
  CAST(GREATEST(-4611686018427387904, LEAST(COALESCE(SUM(b.n0), 0), 4611686018427387904)) AS BIGINT) AS n0
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
    COUNT(*) AS n0
  FROM (
    SELECT
      t.`zone` AS k0,
      t.`ward` AS k1
    FROM (
      SELECT
        *
      FROM (
        SELECT
          t.*,
          DENSE_RANK() OVER (
            PARTITION BY t.`age`, CASE WHEN t.`age` IS NULL THEN XXHASH64(t.probe_sql_salt, t.`zone`, t.`ward`) END
            ORDER BY XXHASH64(t.probe_sql_salt, t.`zone`, t.`ward`) NULLS LAST, t.`zone` NULLS LAST, t.`ward` NULLS LAST
          ) AS probe_sql_row_number1
        FROM `stays` AS t
        WHERE
          t.`zone` >= 1L
          AND t.`zone` <= 5L
          AND t.`ward` IN (
            SELECT
              d1.k1
            FROM probe_sql_keys_1 AS d1
          )
      ) AS t
      WHERE
        t.`age` IS NULL OR t.probe_sql_row_number1 <= 3L
    ) AS t
  ) AS r
  GROUP BY
    1,
    2
), b AS (
  SELECT
    a.k0 AS k0,
    a.k1 AS k1,
    MIN(
      CASE WHEN a.k0 >= 1L AND a.k0 <= 5L THEN CAST(a.k0 AS BIGINT) - 1L END * 3L + d1.o
    ) AS o,
    MIN(a.n0) AS n0
  FROM a
  INNER JOIN probe_sql_keys_1 AS d1
    ON a.k1 = d1.k1
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
WHERE
  NOT b.o IS NULL
GROUP BY
  1;
