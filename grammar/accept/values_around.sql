-- What stands around values is computed from them, and costs nothing.
SELECT ward, round(avg(age), 1) AS age, CAST(sum(cost) AS INTEGER) AS cost, sqrt(count(*))
FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   mean age: sum(age) | delta 120, 120 * count(age) - sum(age) | delta 120
--   amount cost: sum(100 * cost) | delta 1000000
--   total count(*): sum(age) | delta 120, 120 * count(age) - sum(age) | delta 120, count(*) - count(age) | delta 1
--   all at epsilon 1: 2
