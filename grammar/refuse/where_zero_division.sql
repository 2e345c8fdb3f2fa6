-- A constant division by zero.
SELECT ward FROM stays WHERE age / 0 > 1 GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: division by zero
--   at: age / 0
