-- Arithmetic inside SUM: bounds by interval arithmetic.
SELECT ward FROM stays GROUP BY ward HAVING sum(2 * age - zone) > 500;

-- expect:
--   group by: ward
--   Q1: sum(2 * age - zone) > 500
--   = sum(2 * age - zone) > 500 | delta 240
--   formula: Q1
