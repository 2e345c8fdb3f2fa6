-- Each SELECT is a block; the rows are joined outside.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 UNION SELECT ward FROM stays GROUP BY ward HAVING count(*) > 5

-- expect:
--   block 1: SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) > 10
--   block 2: SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) > 5
--   around: SELECT * FROM probe_sql_block_1 UNION SELECT * FROM probe_sql_block_2
