-- A key that is an aggregate.
SELECT count(*) AS n FROM stays GROUP BY n HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: GROUP BY cannot name an aggregate
--   at: count(*)
