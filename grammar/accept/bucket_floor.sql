-- Steps of a number with bounds: values beyond them are in the first and the last bucket.
SELECT floor(weight / 50) * 50 AS w, avg(age) AS a FROM stays GROUP BY w;

-- expect:
--   group by: w
--   formula: every group
--   mean a: sum(age) | delta 120, 120 * count(age) - sum(age) | delta 120
--   all at epsilon 1: 1
