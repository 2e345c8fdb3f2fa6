-- An expression without known bounds.
SELECT ward FROM stays GROUP BY ward HAVING sum(age / zone) > 10

-- expect:
--   error: SqlError
--   what: SUM and AVG of this expression has no known bounds
--   at: age / zone
--   fix: bound it, with numbers that you know: LEAST(GREATEST(..., low), high)
