-- SUM of a boolean.
SELECT ward FROM stays GROUP BY ward HAVING sum(urgent) > 10

-- expect:
--   error: SqlError
--   what: SUM needs a number, and this is a boolean
--   at: urgent
--   fix: count_if(condition), or CAST(x AS INTEGER)
