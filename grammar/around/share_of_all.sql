-- The whole is asked first, and divides the parts.
SELECT ward, 100.0 * count(*) / (SELECT count(*) FROM stays) AS share FROM stays GROUP BY ward

-- expect:
--   block 1: SELECT COUNT(*) FROM stays
--   block 2: SELECT ward, 100.0 * COUNT(*) / $probe_sql_hole_1 AS share FROM stays GROUP BY ward
--   value probe_sql_hole_1: SELECT * FROM probe_sql_block_1
--   around: SELECT * FROM probe_sql_block_2
