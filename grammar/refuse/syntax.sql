-- A syntax error is underlined.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > AND

-- expect:
--   error: SqlError
--   what: syntax error near 'AND'
--   at: AND
--   fix: SELECT ... FROM ... WHERE ... GROUP BY ... HAVING ... WITH ACCURACY (...)
