-- More values than places.
-- parameters: [1, 2]
SELECT ward FROM stays GROUP BY ward HAVING count(*) > ?

-- expect:
--   error: SqlError
--   what: 2 parameters were given for 1 ? places
