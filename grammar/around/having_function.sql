-- A condition that is no threshold is decided on what was released.
SELECT ward FROM stays GROUP BY ward HAVING sqrt(count(*)) > 3

-- expect:
--   block 1: SELECT ward AS "ward", COUNT(*) AS "count(*)" FROM stays GROUP BY ward
--   around: SELECT "ward" AS "ward" FROM probe_sql_block_1 WHERE SQRT("count(*)") > 3
