-- What waits, reads files or runs text is not called outside either.
SELECT pg_sleep(n) FROM (SELECT count(*) AS n FROM stays)

-- expect:
--   error: Refused
--   what: the function pg_sleep is not allowed around private blocks
--   at: pg_sleep(n)
--   fix: docs/dialect.md lists what is allowed
