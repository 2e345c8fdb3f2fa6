-- g < c is the atom of -g > -c, on the same measure.
SELECT ward FROM stays GROUP BY ward HAVING count(*) < 20;

-- expect:
--   group by: ward
--   Q1: count(*) < 20
--   = -1 * count(*) > -20 | delta 1
--   formula: Q1
