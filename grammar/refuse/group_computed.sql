-- Arithmetic alone makes no buckets.
SELECT age + 1 AS next, count(*) FROM stays GROUP BY next

-- expect:
--   error: SqlError
--   what: the column 'age' has no declared keys, so it cannot be grouped by
--   at: age + 1
--   fix: add to the policy: [tables.stays.columns]  age = { keys = [...] }; or make buckets: GROUP BY floor(age / 10) * 10
