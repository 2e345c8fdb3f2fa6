-- Without GROUP BY and without an aggregate, single rows would be asked for.
SELECT 1 AS one FROM stays

-- expect:
--   error: Refused
--   what: the query has neither an aggregate nor GROUP BY
--   at: 1 AS one
--   fix: SELECT count(*)
