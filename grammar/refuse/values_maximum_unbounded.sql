-- A value without bounds: there is no list of all that it could be.
SELECT ward, median(visits) AS m FROM stays GROUP BY ward

-- expect:
--   error: SqlError
--   what: the value of median(visits) needs bounds
--   at: median(visits)
--   fix: the data owner can declare bounds for its columns; or compare it, in HAVING
