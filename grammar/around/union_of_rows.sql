-- Rows of a set operation are asked as groups of one row or more: it shows each once.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 UNION SELECT ward FROM stays

-- expect:
--   block 1: SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) > 10
--   block 2: SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) >= 1
--   around: SELECT * FROM probe_sql_block_1 UNION SELECT * FROM probe_sql_block_2
