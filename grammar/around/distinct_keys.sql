-- DISTINCT over rows asks which groups have a row.
SELECT DISTINCT ward FROM stays WHERE urgent INTERSECT SELECT ward FROM stays WHERE age > 80

-- expect:
--   block 1: SELECT ward FROM stays WHERE urgent GROUP BY ward HAVING COUNT(*) >= 1
--   block 2: SELECT ward FROM stays WHERE age > 80 GROUP BY ward HAVING COUNT(*) >= 1
--   around: SELECT * FROM probe_sql_block_1 INTERSECT SELECT * FROM probe_sql_block_2
