-- Nothing is left to compare.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > count(*)

-- expect:
--   error: SqlError
--   what: both sides are the same aggregate
--   at: count(*) > count(*)
