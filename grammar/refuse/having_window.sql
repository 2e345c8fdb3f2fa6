-- OVER in HAVING.
SELECT ward FROM stays GROUP BY ward HAVING count(*) OVER () > 10

-- expect:
--   error: Refused
--   what: a window function (OVER) is not allowed
--   at: count(*)
--   fix: use the aggregate without OVER: GROUP BY makes the groups
