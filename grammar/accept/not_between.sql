-- NOT is pushed inward.
SELECT ward FROM stays GROUP BY ward HAVING count(*) NOT BETWEEN 10 AND 20;

-- expect:
--   group by: ward
--   Q1: count(*) < 10
--   = -1 * count(*) > -10 | delta 1
--   Q2: count(*) > 20
--   = count(*) > 20 | delta 1
--   formula: (Q1 OR Q2)
