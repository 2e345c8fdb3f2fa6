-- A text made of a value is computed around the block.
SELECT ward, CAST(count(*) AS VARCHAR) FROM stays GROUP BY ward

-- expect:
--   block 1: SELECT ward AS "ward", COUNT(*) AS "count(*)" FROM stays GROUP BY ward
--   around: SELECT "ward" AS "ward", CAST("count(*)" AS TEXT) AS "CAST(count(*) AS TEXT)" FROM probe_sql_block_1
