-- A declared granularity of 0.1 in [0, 300]: Delta = 3000.
SELECT ward FROM stays GROUP BY ward HAVING sum(weight) >= 5000;

-- expect:
--   group by: ward
--   Q1: sum(weight) >= 5000
--   = sum(10 * weight) > 49999 | delta 3000
--   formula: Q1
