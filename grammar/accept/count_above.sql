-- COUNT(*) > c: every row weighs 1, t = floor(c).
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 500.7;

-- expect:
--   group by: ward
--   Q1: count(*) > 500.7
--   = count(*) > 500 | delta 1
--   formula: Q1
