-- COALESCE(SUM(x), 0): a group without rows counts as 0 and needs no guard.
SELECT ward FROM stays GROUP BY ward HAVING coalesce(sum(age), 0) < 100;

-- expect:
--   group by: ward
--   Q1: coalesce(sum(age), 0) < 100
--   = -1 * sum(age) > -100 | delta 120
--   formula: Q1
