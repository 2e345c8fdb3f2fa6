-- Keys that a block released are a list for the next one.
SELECT disease, count(*) FROM stays WHERE ward IN (SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10) GROUP BY disease

-- expect:
--   block 1: SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) > 10
--   block 2: SELECT disease, COUNT(*) FROM stays WHERE ward IN $probe_sql_hole_1 GROUP BY disease
--   list probe_sql_hole_1: SELECT * FROM probe_sql_block_1
--   around: SELECT * FROM probe_sql_block_2
