-- WITHIN GROUP; percentile_cont is the value of a row, too.
SELECT ward FROM stays GROUP BY ward
HAVING percentile_disc(0.9) WITHIN GROUP (ORDER BY age) > 80
   AND percentile_cont(0.25) WITHIN GROUP (ORDER BY cost) < 100;

-- expect:
--   group by: ward
--   Q1: quantile_disc(age, 0.9) > 80
--   = 9 * count(*) FILTER (WHERE age > 80) - count(*) FILTER (WHERE age <= 80) > 0 | delta 9
--   Q2: quantile_cont(cost, 0.25) < 100
--   = -count(*) FILTER (WHERE cost >= 100) + 3 * count(*) FILTER (WHERE cost < 100) > -1, where count(cost) > 0 | delta 3
--   formula: (Q1 AND Q2)
