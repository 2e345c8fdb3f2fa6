-- COUNT(*) >= c: t = ceil(c) - 1.
SELECT ward FROM stays GROUP BY ward HAVING count(*) >= 500;

-- expect:
--   group by: ward
--   Q1: count(*) >= 500
--   = count(*) > 499 | delta 1
--   formula: Q1
