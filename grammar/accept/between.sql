-- BETWEEN is two comparisons on one measure.
SELECT ward FROM stays GROUP BY ward HAVING count(*) BETWEEN 10 AND 20;

-- expect:
--   group by: ward
--   Q1: count(*) >= 10
--   = count(*) > 9 | delta 1
--   Q2: count(*) <= 20
--   = -1 * count(*) > -21 | delta 1
--   formula: (Q1 AND Q2)
