-- A table that protects people: the question is the same, its caps enter the accounting.
SELECT ward FROM people GROUP BY ward HAVING count(*) > 10

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
