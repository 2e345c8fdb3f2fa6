-- The number may stand on the left.
SELECT ward FROM stays GROUP BY ward HAVING 500 < count(*);

-- expect:
--   group by: ward
--   Q1: 500 < count(*)
--   = count(*) > 500 | delta 1
--   formula: Q1
