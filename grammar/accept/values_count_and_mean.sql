-- A count beside a mean is read off its two sums; only rows that the mean leaves out are counted.
SELECT ward, count(*) AS n, avg(age) AS a FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   total n: sum(age) | delta 120, 120 * count(age) - sum(age) | delta 120, count(*) - count(age) | delta 1
--   mean a: sum(age) | delta 120, 120 * count(age) - sum(age) | delta 120
--   all at epsilon 1: 1
