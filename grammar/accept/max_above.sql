-- MAX(x) > c iff some row has x > c: Delta 1, t = 0.
SELECT ward FROM stays GROUP BY ward HAVING max(age) > 100;

-- expect:
--   group by: ward
--   Q1: max(age) > 100
--   = count(*) FILTER (WHERE age > 100) > 0 | delta 1
--   formula: Q1
