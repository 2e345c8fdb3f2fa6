-- HAVING may use names of the SELECT list.
SELECT ward, avg(age) AS mean_age FROM stays GROUP BY ward
HAVING mean_age > 65 AND count(age) > 10;

-- expect:
--   group by: ward
--   Q1: avg(age) > 65
--   = sum(age) - 65 * count(age) > 0 | delta 65
--   Q2: count(age) > 10
--   = count(age) > 10 | delta 1
--   formula: (Q1 AND Q2)
