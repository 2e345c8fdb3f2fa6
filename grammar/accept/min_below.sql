-- MIN(x) < c iff some row has x < c.
SELECT ward FROM stays GROUP BY ward HAVING min(age) < 1;

-- expect:
--   group by: ward
--   Q1: min(age) < 1
--   = count(*) FILTER (WHERE age < 1) > 0 | delta 1
--   formula: Q1
