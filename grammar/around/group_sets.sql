-- And GROUPING SETS. ORDER BY and LIMIT are about all of them.
SELECT ward, zone FROM stays GROUP BY GROUPING SETS ((ward), (zone)) HAVING count(*) > 10 ORDER BY ward LIMIT 5

-- expect:
--   set 1: SELECT ward AS "ward" FROM stays GROUP BY ward HAVING COUNT(*) > 10
--   set 2: SELECT zone AS "zone" FROM stays GROUP BY zone HAVING COUNT(*) > 10
--   around: SELECT "ward" AS "ward", NULL AS "zone" FROM probe_sql_block_1 AS "set 1" UNION ALL SELECT NULL AS "ward", "zone" AS "zone" FROM probe_sql_block_2 AS "set 2" ORDER BY 1 LIMIT 5
