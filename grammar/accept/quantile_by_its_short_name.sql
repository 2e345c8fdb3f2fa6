-- QUANTILE(x, p) is QUANTILE_DISC(x, p).
SELECT ward FROM stays GROUP BY ward HAVING quantile(age, 0.9) > 80;

-- expect:
--   group by: ward
--   Q1: quantile(age, 0.9) > 80
--   = 9 * count(*) FILTER (WHERE age > 80) - count(*) FILTER (WHERE age <= 80) > 0 | delta 9
--   formula: Q1
