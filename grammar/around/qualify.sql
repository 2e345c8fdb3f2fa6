-- QUALIFY chooses among released groups.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 QUALIFY row_number() OVER () = 1

-- expect:
--   block 1: SELECT ward AS "ward" FROM stays GROUP BY ward HAVING COUNT(*) > 10
--   around: SELECT "ward" AS "ward" FROM probe_sql_block_1 QUALIFY ROW_NUMBER() OVER () = 1
