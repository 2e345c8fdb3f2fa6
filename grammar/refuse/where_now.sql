-- The clock is not part of the query.
SELECT ward FROM stays WHERE seen < now() GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: current_timestamp is not allowed here
--   at: now()
--   fix: write it: TIMESTAMP 'YYYY-MM-DD HH:MM:SS'
