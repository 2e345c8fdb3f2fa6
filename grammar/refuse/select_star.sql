-- Rows are never released.
SELECT * FROM stays GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: SELECT * is not supported
--   at: *
--   fix: name keys and aggregates
