-- NULL is not a number.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > NULL

-- expect:
--   error: SqlError
--   what: NULL is not a number
--   at: count(*) > NULL
--   fix: write a number
