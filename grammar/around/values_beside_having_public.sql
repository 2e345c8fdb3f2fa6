-- A public column that a key determines comes from the first block; both are joined by all keys.
SELECT w.beds, median(s.age) FROM stays s JOIN wards w ON w.ward = s.ward
GROUP BY s.ward, s.zone HAVING count(*) >= 20

-- expect:
--   block 1: SELECT s.ward AS "ward", s.zone AS "zone", w.beds AS "beds" FROM stays AS s JOIN wards AS w ON w.ward = s.ward GROUP BY s.ward, s.zone HAVING COUNT(*) >= 20
--   block 2: SELECT s.ward AS "ward", s.zone AS "zone", MEDIAN(s.age) AS "median(s.age)" FROM stays AS s JOIN wards AS w ON w.ward = s.ward GROUP BY s.ward, s.zone
--   around: SELECT "beds" AS "beds", "median(s.age)" AS "median(s.age)" FROM probe_sql_block_1 LEFT JOIN probe_sql_block_2 USING ("ward", "zone")
