-- AVG(x) <= c would hold for 0 > -1 without rows: it carries a guard.
SELECT ward FROM stays GROUP BY ward HAVING avg(age) <= 40;

-- expect:
--   group by: ward
--   Q1: avg(age) <= 40
--   = -sum(age) + 40 * count(age) > -1, where count(age) > 0 | delta 80
--   formula: Q1
