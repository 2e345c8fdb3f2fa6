-- Groups are distinct already.
SELECT DISTINCT ward FROM stays GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: DISTINCT is not supported in the query
--   at: DISTINCT
--   fix: groups are distinct already: leave it out
