-- A table is needed.
SELECT 1 AS one GROUP BY one HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: there is no FROM
--   fix: SELECT ... FROM table GROUP BY ...
