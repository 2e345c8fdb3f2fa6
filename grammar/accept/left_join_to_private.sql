-- Public rows without a private one add nothing to a count of a private column, so the join is an inner one.
SELECT w.beds, count(s.age) AS n FROM wards w LEFT JOIN stays s ON s.ward = w.ward GROUP BY w.beds HAVING count(s.age) > 3

-- expect:
--   group by: beds
--   Q1: count(s.age) > 3
--   = count(s.age) > 3 | delta 1
--   formula: Q1
