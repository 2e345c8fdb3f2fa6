-- The largest groups: all are released, sorted and cut.
SELECT ward, count(*) AS n FROM stays GROUP BY ward ORDER BY n DESC LIMIT 3
WITH ACCURACY (spend = 'all');

-- expect:
--   group by: ward
--   formula: every group
--   amount n: count(*) | delta 1
--   all at epsilon 1: 1
