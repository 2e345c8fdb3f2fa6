-- SUM of a boolean.
SELECT ward FROM stays GROUP BY ward HAVING sum(urgent) > 10

-- expect:
--   error: SqlError
--   what: SUM needs a number, and this is a boolean
--   at: urgent
--   fix: write CAST(urgent AS INTEGER)
