-- LIMIT takes a whole number.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 LIMIT 1 + 1

-- expect:
--   error: SqlError
--   what: LIMIT takes a whole number
--   at: LIMIT 1 + 1
--   fix: write how many rows
