-- USING, where both sides have the column.
SELECT stays.ward FROM stays JOIN wards USING (ward)
GROUP BY stays.ward HAVING count(*) > 5;

-- expect:
--   group by: ward
--   Q1: count(*) > 5
--   = count(*) > 5 | delta 1
--   formula: Q1
