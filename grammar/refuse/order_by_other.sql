-- Ordering by what is not released.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 ORDER BY max(age)

-- expect:
--   error: SqlError
--   what: ORDER BY takes columns of the SELECT list
--   at: max(age)
--   fix: add it to the SELECT list, or order by a name or number of that list
