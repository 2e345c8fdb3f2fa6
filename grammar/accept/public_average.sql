-- AVG beside a public column: the column's declared bounds give Delta.
SELECT s.ward FROM stays s JOIN wards w ON w.ward = s.ward
GROUP BY s.ward HAVING avg(s.age) > w.beds;

-- expect:
--   group by: ward
--   Q1: avg(s.age) > w.beds
--   = sum(s.age) - beds * count(s.age) > floor(0), where count(s.age) > 0 | delta 120
--   formula: Q1
