-- A threshold is asked before the block that it stands in.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > (SELECT 5)

-- expect:
--   block 1: SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) > $probe_sql_hole_1
--   value probe_sql_hole_1: SELECT 5
--   around: SELECT * FROM probe_sql_block_1
