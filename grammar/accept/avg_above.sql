-- AVG(x) > c iff SUM(x - c) > 0: Delta = max(|0 - 65|, |120 - 65|).
SELECT ward FROM stays GROUP BY ward HAVING avg(age) > 65;

-- expect:
--   group by: ward
--   Q1: avg(age) > 65
--   = sum(age) - 65 * count(age) > 0 | delta 65
--   formula: Q1
