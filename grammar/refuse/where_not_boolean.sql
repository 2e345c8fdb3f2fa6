-- A condition must be a boolean.
SELECT ward FROM stays WHERE age GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: a condition needs a boolean, and this is an integer
--   at: age
--   fix: compare it with a value
