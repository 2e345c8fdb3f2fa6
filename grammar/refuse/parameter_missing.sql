-- Fewer values than places.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > ?

-- expect:
--   error: SqlError
--   what: the query has more ? places than the 0 parameters given
--   at: ?
