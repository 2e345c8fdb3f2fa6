-- QUANTILE_DISC(x, 0.9) > c: 9 for each row above, -1 for each other.
SELECT ward FROM stays GROUP BY ward HAVING quantile_disc(age, 0.9) > 80;

-- expect:
--   group by: ward
--   Q1: quantile_disc(age, 0.9) > 80
--   = 9 * count(*) FILTER (WHERE age > 80) - count(*) FILTER (WHERE age <= 80) > 0 | delta 9
--   formula: Q1
