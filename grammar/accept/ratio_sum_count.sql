-- SUM(x)/COUNT(*) > c collapses to one sum.
SELECT ward FROM stays GROUP BY ward HAVING sum(cost) / count(*) > 300;

-- expect:
--   group by: ward
--   Q1: sum(cost) / count(*) > 300
--   = sum(100 * cost) - 30000 * count(*) > 0, where count(cost) > 0 | delta 970000
--   formula: Q1
