-- A margin for each column; columns without one share what is left of epsilon.
SELECT ward, count(*) AS n, avg(age) AS a, sum(cost) AS total FROM stays GROUP BY ward
WITH ACCURACY (margin = (n = 50, a = 0.5), epsilon = 2);

-- expect:
--   group by: ward
--   formula: every group
--   amount n: count(*) | delta 1
--   mean a: sum(age) | delta 120, 120 * count(age) - sum(age) | delta 120
--   amount total: sum(100 * cost) | delta 1000000
--   all at epsilon 1: 3
