-- A quote that is not closed.
SELECT ward FROM stays WHERE name = 'x GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: the query cannot be read: a quote or comment is not closed, or a character is unknown
--   fix: close every ' and " and /* comment
