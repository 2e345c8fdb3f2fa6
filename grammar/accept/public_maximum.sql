-- MAX beside a public column; NULL there selects nothing.
SELECT s.ward FROM stays s JOIN wards w ON w.ward = s.ward
GROUP BY s.ward HAVING max(s.age) < w.beds;

-- expect:
--   group by: ward
--   Q1: max(s.age) < w.beds
--   = -count(*) FILTER (WHERE s.age >= w.beds) > -1, where count(s.age) FILTER (WHERE w.beds IS NOT NULL) > 0 | delta 1
--   formula: Q1
