-- A correlated aggregate is a block by its key, looked up for every row of outside.
SELECT w.ward, w.beds / (SELECT count(*) FROM stays s WHERE s.ward = w.ward AND s.urgent) AS per FROM wards w

-- expect:
--   COUNT(*) by ward: SELECT s.ward AS probe_key, COUNT(*) AS probe_value FROM stays AS s WHERE s.urgent GROUP BY s.ward
--   around: SELECT w.ward, w.beds / (SELECT "COUNT(*) by ward".probe_value FROM probe_sql_block_1 AS "COUNT(*) by ward" WHERE "COUNT(*) by ward".probe_key = w.ward) AS per FROM wards AS w
