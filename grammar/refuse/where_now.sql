-- The clock is not part of the query.
SELECT ward FROM stays WHERE seen < now() GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the function now is not allowed
--   at: now()
--   fix: write the date in the query
