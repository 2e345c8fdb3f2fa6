-- An empty text.

-- expect:
--   error: SqlError
--   what: the query is empty
--   fix: SELECT ... FROM ... GROUP BY ... HAVING ...
