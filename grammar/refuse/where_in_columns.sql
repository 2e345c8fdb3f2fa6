-- IN takes literals.
SELECT ward FROM stays WHERE age IN (zone, grade) GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: IN takes a list of literals
--   at: zone
--   fix: write each with =, and OR between
