-- Without HAVING: every group with its count.
SELECT ward, count(*) AS n FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   amount n: count(*) | delta 1
--   all at epsilon 1: 1
