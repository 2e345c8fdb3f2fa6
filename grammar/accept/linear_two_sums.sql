-- SUM(a) > 2 * SUM(b): one weight a - 2b.
SELECT ward FROM stays GROUP BY ward HAVING sum(age) > 2 * sum(zone);

-- expect:
--   group by: ward
--   Q1: sum(age) > 2 * sum(zone)
--   = sum(age) - 2 * sum(zone) > 0, where count(age) > 0 and count(zone) > 0 | delta 200
--   formula: Q1
