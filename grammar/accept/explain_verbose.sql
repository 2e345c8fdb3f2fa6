-- EXPLAIN VERBOSE shows the arithmetic and the SQL as well.
EXPLAIN VERBOSE SELECT ward FROM stays GROUP BY ward HAVING count(*) > 100;

-- expect:
--   group by: ward
--   Q1: count(*) > 100
--   = count(*) > 100 | delta 1
--   formula: Q1
