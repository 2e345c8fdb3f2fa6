-- g <= c with a fraction: at most 20 rows.
SELECT ward FROM stays GROUP BY ward HAVING count(*) <= 20.5;

-- expect:
--   group by: ward
--   Q1: count(*) <= 20.5
--   = -1 * count(*) > -21 | delta 1
--   formula: Q1
