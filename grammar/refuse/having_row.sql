-- A condition on single rows.
SELECT ward FROM stays GROUP BY ward HAVING age > 65 AND count(*) > 10

-- expect:
--   error: SqlError
--   what: age > 65 reads single rows, and HAVING is about groups
--   at: age > 65
--   fix: move it to WHERE, or compare an aggregate
