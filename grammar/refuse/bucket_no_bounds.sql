-- Steps of a number without bounds have no ends.
SELECT visits // 10 AS v, count(*) FROM stays GROUP BY v

-- expect:
--   error: SqlError
--   what: the column 'visits' has no declared keys, so it cannot be grouped by
--   at: visits // 10
--   fix: add to the policy: [tables.stays.columns]  visits = { keys = [...] }, or bounds = [low, high] for buckets
