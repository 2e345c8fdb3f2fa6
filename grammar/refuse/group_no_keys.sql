-- A column without declared keys.
SELECT age FROM stays GROUP BY age HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: the column 'age' has no declared keys, so it cannot be grouped by
--   at: age
--   fix: add to the policy: [tables.stays.columns]  age = { keys = [...] }; or make buckets: GROUP BY floor(age / 10) * 10
