-- A mean is two sums that move together by the width of the bounds: both cost what one costs.
SELECT ward, avg(age) AS a FROM stays GROUP BY ward WITH ACCURACY (margin = 0.5);

-- expect:
--   group by: ward
--   formula: every group
--   mean a: sum(age) | delta 120, 120 * count(age) - sum(age) | delta 120
--   all at epsilon 1: 1
