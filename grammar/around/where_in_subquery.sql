-- A list of public keys is joined, however long.
SELECT ward FROM stays WHERE ward IN (SELECT ward FROM wards) GROUP BY ward HAVING count(*) > 10

-- expect:
--   block 1: SELECT ward FROM stays WHERE ward IN $probe_sql_hole_1 GROUP BY ward HAVING COUNT(*) > 10
--   list probe_sql_hole_1: SELECT ward FROM wards
--   around: SELECT * FROM probe_sql_block_1
