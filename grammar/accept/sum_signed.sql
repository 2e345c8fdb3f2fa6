-- Bounds on both sides of 0: Delta is the larger of the two.
SELECT ward FROM stays GROUP BY ward HAVING sum(paid) < -100;

-- expect:
--   group by: ward
--   Q1: sum(paid) < -100
--   = -1 * (sum(10000 * paid)) > 1000000 | delta 5005000
--   formula: Q1
