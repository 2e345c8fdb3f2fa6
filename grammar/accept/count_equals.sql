-- = is two comparisons on one measure.
SELECT ward FROM stays GROUP BY ward HAVING count(*) = 7;

-- expect:
--   group by: ward
--   Q1: count(*) >= 7
--   = count(*) > 6 | delta 1
--   Q2: count(*) <= 7
--   = -1 * count(*) > -8 | delta 1
--   formula: (Q1 AND Q2)
