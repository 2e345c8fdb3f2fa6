-- With a lower bound of 0 the sum is one side of the mean, and is measured once.
SELECT ward, avg(cost) AS mean, sum(cost) AS total FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   mean mean: sum(100 * cost) | delta 1000000, 1000000 * count(cost) - sum(100 * cost) | delta 1000000
--   amount total: sum(100 * cost) | delta 1000000
--   all at epsilon 1: 1
