-- SUM(x) > c with x in [0, 120]: Delta = 120.
SELECT ward FROM stays GROUP BY ward HAVING sum(age) > 10000;

-- expect:
--   group by: ward
--   Q1: sum(age) > 10000
--   = sum(age) > 10000 | delta 120
--   formula: Q1
