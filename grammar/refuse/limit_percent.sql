-- LIMIT with a percentage.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 LIMIT 10%

-- expect:
--   error: SqlError
--   what: LIMIT takes a whole number
--   at: LIMIT 10
--   fix: write how many rows
