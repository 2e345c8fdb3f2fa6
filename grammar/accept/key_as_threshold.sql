-- A group key is one number for each group.
SELECT zone FROM stays GROUP BY zone HAVING count(*) > 2 * zone + 10;

-- expect:
--   group by: zone
--   Q1: count(*) > 2 * zone + 10
--   = count(*) > floor(2 * zone + 10) | delta 1
--   formula: Q1
