-- The numbers of a list are written into HAVING, a few of them.
SELECT ward FROM stays GROUP BY ward HAVING count(*) IN (SELECT beds FROM wards)

-- expect:
--   block 1: SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) IN $probe_sql_hole_1
--   list probe_sql_hole_1: SELECT beds FROM wards
--   around: SELECT * FROM probe_sql_block_1
