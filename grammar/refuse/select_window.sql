-- A window makes rows depend on rows.
SELECT ward, sum(age) OVER (PARTITION BY ward) FROM stays GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: age is neither a group key nor an aggregate
--   at: age
--   fix: add it to GROUP BY, or aggregate it
