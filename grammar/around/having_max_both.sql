-- So is a comparison of MAX with another aggregate.
SELECT ward FROM stays GROUP BY ward HAVING max(age) > count(*)

-- expect:
--   block 1: SELECT ward AS "ward", MAX(age) AS "max(age)", COUNT(*) AS "count(*)" FROM stays GROUP BY ward
--   around: SELECT "ward" AS "ward" FROM probe_sql_block_1 WHERE "max(age)" > "count(*)"
