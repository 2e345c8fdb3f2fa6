-- Without GROUP BY all rows are one group, whose value decides whether it is shown.
SELECT count(*) FROM stays HAVING count(*) > 10

-- expect:
--   block 1: SELECT COUNT(*) AS "count(*)" FROM stays
--   around: SELECT "count(*)" AS "count(*)" FROM probe_sql_block_1 WHERE "count(*)" > 10
