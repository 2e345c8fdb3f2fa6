-- A difference of averages is made of two values.
SELECT ward, (avg(age)) - (avg(weight)) AS apart FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   mean avg(age): sum(age) | delta 120, 120 * count(age) - sum(age) | delta 120
--   mean avg(weight): sum(10 * weight) | delta 3000, 3000 * count(weight) - sum(10 * weight) | delta 3000
--   all at epsilon 1: 2
