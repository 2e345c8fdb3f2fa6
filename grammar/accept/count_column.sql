-- COUNT(x) counts the rows where x is not NULL.
SELECT ward FROM stays GROUP BY ward HAVING count(age) > 10;

-- expect:
--   group by: ward
--   Q1: count(age) > 10
--   = count(age) > 10 | delta 1
--   formula: Q1
