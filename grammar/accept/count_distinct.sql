-- COUNT(DISTINCT x): one row changes it by at most 1.
SELECT ward FROM stays GROUP BY ward HAVING count(DISTINCT disease) >= 3;

-- expect:
--   group by: ward
--   Q1: count(DISTINCT disease) >= 3
--   = count(DISTINCT disease) > 2 | delta 1
--   formula: Q1
