-- MAX(x) < c iff there are rows, and none has x >= c.
SELECT ward FROM stays GROUP BY ward HAVING max(age) < 18;

-- expect:
--   group by: ward
--   Q1: max(age) < 18
--   = -count(*) FILTER (WHERE age >= 18) > -1, where count(age) > 0 | delta 1
--   formula: Q1
