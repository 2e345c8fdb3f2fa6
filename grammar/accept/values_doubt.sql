-- The ends of an interval beside a mean, without HAVING.
SELECT ward, avg(age) AS mean, low(mean) AS least, high(avg(age)) AS most FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   mean mean: sum(age) | delta 120, 120 * count(age) - sum(age) | delta 120
--   all at epsilon 1: 1
