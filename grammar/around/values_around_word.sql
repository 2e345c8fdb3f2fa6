-- So is any function that does not stand around values inside.
SELECT ward, lower(sum(cost)) FROM stays GROUP BY ward

-- expect:
--   block 1: SELECT ward AS "ward", SUM(cost) AS "sum(cost)" FROM stays GROUP BY ward
--   around: SELECT "ward" AS "ward", LOWER("sum(cost)") AS "lower(sum(cost))" FROM probe_sql_block_1
