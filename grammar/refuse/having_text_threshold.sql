-- A count beside a text.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 'ten'

-- expect:
--   error: SqlError
--   what: 'ten' is not a number
--   at: 'ten'
--   fix: write a number
