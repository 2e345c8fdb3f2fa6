-- A pattern that comes from a row.
SELECT ward FROM stays WHERE name LIKE sex GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: LIKE needs a text written in the query
--   at: sex
