-- <> is either of two comparisons.
SELECT ward FROM stays GROUP BY ward HAVING count(*) <> 7;

-- expect:
--   group by: ward
--   Q1: count(*) > 7
--   = count(*) > 7 | delta 1
--   Q2: count(*) < 7
--   = -1 * count(*) > -7 | delta 1
--   formula: (Q1 OR Q2)
