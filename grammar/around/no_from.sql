-- Without a table nothing private is read.
SELECT 1 AS one GROUP BY one HAVING count(*) > 10

-- expect:
--   around: SELECT 1 AS one GROUP BY one HAVING COUNT(*) > 10
