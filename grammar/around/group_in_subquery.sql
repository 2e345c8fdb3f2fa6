-- A block in FROM is a table outside.
SELECT ward FROM (SELECT ward FROM stays GROUP BY ward) q GROUP BY ward HAVING count(*) > 10

-- expect:
--   q: SELECT ward FROM stays GROUP BY ward
--   around: SELECT ward FROM probe_sql_block_1 AS q GROUP BY ward HAVING COUNT(*) > 10
