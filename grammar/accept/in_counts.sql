-- IN over counts.
SELECT ward FROM stays GROUP BY ward HAVING count(*) IN (1, 5);

-- expect:
--   group by: ward
--   Q1: count(*) >= 1
--   = count(*) > 0 | delta 1
--   Q2: count(*) <= 1
--   = -1 * count(*) > -2 | delta 1
--   Q3: count(*) >= 5
--   = count(*) > 4 | delta 1
--   Q4: count(*) <= 5
--   = -1 * count(*) > -6 | delta 1
--   formula: ((Q1 AND Q2) OR (Q3 AND Q4))
