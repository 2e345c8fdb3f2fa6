-- Private rows meet at most one row of a block, by its keys.
WITH big AS (SELECT ward, count(*) AS n FROM stays GROUP BY ward HAVING count(*) > 10) SELECT disease, count(*) FROM stays JOIN big USING (ward) GROUP BY disease

-- expect:
--   big: SELECT ward, COUNT(*) AS n FROM stays GROUP BY ward HAVING COUNT(*) > 10
--   block 2: SELECT disease, COUNT(*) FROM stays JOIN probe_sql_hole_1 AS big USING (ward) GROUP BY disease
--   table probe_sql_hole_1: SELECT * FROM probe_sql_block_1
--   around: SELECT * FROM probe_sql_block_2
