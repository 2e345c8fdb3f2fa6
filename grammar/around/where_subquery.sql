-- A threshold for rows is a released value.
SELECT ward FROM stays WHERE age > (SELECT avg(age) FROM stays) GROUP BY ward HAVING count(*) > 10

-- expect:
--   block 1: SELECT AVG(age) FROM stays
--   block 2: SELECT ward FROM stays WHERE age > $probe_sql_hole_1 GROUP BY ward HAVING COUNT(*) > 10
--   value probe_sql_hole_1: SELECT * FROM probe_sql_block_1
--   around: SELECT * FROM probe_sql_block_2
