-- EXPLAIN before a query.
EXPLAIN SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
