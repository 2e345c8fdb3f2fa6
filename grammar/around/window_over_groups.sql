-- Windows beside aggregates compute on what the block released.
SELECT ward, count(*) AS n, 100.0 * count(*) / sum(count(*)) OVER () AS share FROM stays GROUP BY 1 HAVING n > 5 ORDER BY n DESC LIMIT 3

-- expect:
--   block 1: SELECT ward AS "ward", COUNT(*) AS "n" FROM stays GROUP BY ward HAVING n > 5
--   around: SELECT "ward" AS "ward", "n" AS "n", 100.0 * "n" / SUM("n") OVER () AS "share" FROM probe_sql_block_1 ORDER BY n DESC LIMIT 3
