-- AVG(x) > 40.5: steps of a half, so all weights are whole.
SELECT ward FROM stays GROUP BY ward HAVING avg(age) > 40.5;

-- expect:
--   group by: ward
--   Q1: avg(age) > 40.5
--   = 2 * sum(age) - 81 * count(age) > 0 | delta 159
--   formula: Q1
