-- A margin is named for a value that is not there.
SELECT ward, count(*) AS n FROM stays GROUP BY ward WITH ACCURACY (margin = (m = 50))

-- expect:
--   error: SqlError
--   what: margin names 'm', which is no value of the SELECT list
--   at: margin = (m = 50)
--   fix: name one of n
