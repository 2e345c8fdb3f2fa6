-- SUM of a truth value counts the rows where it holds.
SELECT ward FROM stays GROUP BY ward HAVING sum(urgent) > 10

-- expect:
--   group by: ward
--   Q1: sum(urgent) > 10
--   = sum(urgent) > 10 | delta 1
--   formula: Q1
