-- A value of a single row is never released.
SELECT ward, name FROM stays GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: name is neither a group key nor an aggregate
--   at: name
--   fix: add it to GROUP BY, or aggregate it
