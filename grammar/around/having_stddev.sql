-- And one of a spread. A threshold beside it stays with the block.
SELECT ward FROM stays GROUP BY ward HAVING stddev(age) > 10 AND count(*) > 20

-- expect:
--   block 1: SELECT ward AS "ward", STDDEV(age) AS "stddev(age)" FROM stays GROUP BY ward HAVING COUNT(*) > 20
--   around: SELECT "ward" AS "ward" FROM probe_sql_block_1 WHERE "stddev(age)" > 10
