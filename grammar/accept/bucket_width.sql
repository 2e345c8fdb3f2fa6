-- Buckets of equal width, and one on each side of them.
SELECT width_bucket(cost, 100, 500, 4) AS b, ward FROM stays GROUP BY b, ward HAVING count(*) > 10;

-- expect:
--   group by: b, ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
