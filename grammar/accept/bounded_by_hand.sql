-- LEAST and GREATEST bound what has no bounds.
SELECT ward FROM stays GROUP BY ward
HAVING avg(least(greatest(age / zone, 0), 50)) > 5;

-- expect:
--   group by: ward
--   Q1: avg(least(greatest(age / zone, 0), 50)) > 5
--   = sum(32768 * least(greatest(age / zone, 0), 50)) - 163840 * count(*) > 0 | delta 1474560
--   formula: Q1
