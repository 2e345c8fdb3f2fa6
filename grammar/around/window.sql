-- Whatever stands around a block computes on what it released.
SELECT ward, n, rank() OVER (ORDER BY n DESC) AS place, n - lag(n) OVER (ORDER BY n) AS gap FROM (SELECT ward, count(*) AS n FROM stays GROUP BY ward) QUALIFY place <= 2

-- expect:
--   block 1: SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward
--   around: SELECT ward, n, RANK() OVER (ORDER BY n DESC) AS place, n - LAG(n) OVER (ORDER BY n) AS gap FROM probe_sql_block_1 AS probe_sql_block_1 QUALIFY place <= 2
