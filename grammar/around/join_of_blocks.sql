-- Blocks are joined with each other and with public tables, outside.
WITH busy AS (SELECT ward FROM stays GROUP BY ward HAVING count(*) > 1000 WITH ACCURACY (epsilon = 0.2)),
     costs AS (SELECT ward, avg(cost) AS cost FROM stays GROUP BY ward)
SELECT w.beds, count(*) AS wards, avg(c.cost) AS cost
FROM busy JOIN costs c USING (ward) JOIN wards w USING (ward)
GROUP BY w.beds ORDER BY wards DESC
WITH ACCURACY (epsilon = 0.5)

-- expect:
--   busy: SELECT ward FROM stays GROUP BY ward HAVING COUNT(*) > 1000
--   costs: SELECT ward, AVG(cost) AS cost FROM stays GROUP BY ward
--   around: SELECT w.beds, COUNT(*) AS wards, AVG(c.cost) AS cost FROM probe_sql_block_1 AS busy JOIN probe_sql_block_2 AS c USING (ward) JOIN wards AS w USING (ward) GROUP BY w.beds ORDER BY wards DESC
