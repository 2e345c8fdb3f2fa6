-- Expressions over group keys, and aggregates that HAVING measures.
SELECT lower(ward) AS small, count(age) AS n, avg(age) FROM stays GROUP BY ward
HAVING count(age) > 10 AND avg(age) > 30;

-- expect:
--   group by: ward
--   Q1: count(age) > 10
--   = count(age) > 10 | delta 1
--   Q2: avg(age) > 30
--   = sum(age) - 30 * count(age) > 0 | delta 90
--   formula: (Q1 AND Q2)
