-- A constant over an aggregate is no value of its own.
SELECT 100 / count(*) FROM stays

-- expect:
--   error: SqlError
--   what: 100 / count(*) is the same for every group, or divides a constant
--   at: 100 / count(*)
--   fix: select the aggregate by itself
