-- CUBE is a block for each set of keys, one below the other.
SELECT ward, zone FROM stays GROUP BY CUBE (ward, zone) HAVING count(*) > 10

-- expect:
--   set 1: SELECT ward AS "ward", zone AS "zone" FROM stays GROUP BY ward, zone HAVING COUNT(*) > 10
--   set 2: SELECT ward AS "ward" FROM stays GROUP BY ward HAVING COUNT(*) > 10
--   set 3: SELECT zone AS "zone" FROM stays GROUP BY zone HAVING COUNT(*) > 10
--   set 4: SELECT COUNT(*) AS "probe_sql_rows" FROM stays
--   around: SELECT "ward" AS "ward", "zone" AS "zone" FROM probe_sql_block_1 AS "set 1" UNION ALL SELECT "ward" AS "ward", NULL AS "zone" FROM probe_sql_block_2 AS "set 2" UNION ALL SELECT NULL AS "ward", "zone" AS "zone" FROM probe_sql_block_3 AS "set 3" UNION ALL SELECT NULL AS "ward", NULL AS "zone" FROM (SELECT "probe_sql_rows" AS "probe_sql_rows" FROM probe_sql_block_4 WHERE "probe_sql_rows" > 10) AS "set 4"
