-- QUANTILE_DISC <= c: the negated sum, where there are rows.
SELECT ward FROM stays GROUP BY ward HAVING quantile_disc(age, 0.25) <= 30;

-- expect:
--   group by: ward
--   Q1: quantile_disc(age, 0.25) <= 30
--   = -count(*) FILTER (WHERE age > 30) + 3 * count(*) FILTER (WHERE age <= 30) > -1, where count(age) > 0 | delta 3
--   formula: Q1
