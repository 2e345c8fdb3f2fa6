-- ROLLUP counts each row in several groups.
SELECT ward, zone FROM stays GROUP BY ROLLUP (ward, zone) HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: ROLLUP is not supported
--   at: ROLLUP (ward, zone)
--   fix: GROUP BY the columns, in one query for each set
