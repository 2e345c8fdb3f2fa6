-- SUM < c: a group without rows is NULL, so it must hold a row.
SELECT ward FROM stays GROUP BY ward HAVING sum(age) < 100;

-- expect:
--   group by: ward
--   Q1: sum(age) < 100
--   = -sum(age) > -100, where count(age) > 0 | delta 120
--   formula: Q1
