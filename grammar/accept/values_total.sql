-- Without GROUP BY: all rows are one group.
SELECT count(*), sum(cost) AS total FROM stays WITH ACCURACY (confidence = 0.9);

-- expect:
--   group by: nothing
--   formula: every group
--   amount count(*): count(*) | delta 1
--   amount total: sum(100 * cost) | delta 1000000
--   all at epsilon 1: 2
