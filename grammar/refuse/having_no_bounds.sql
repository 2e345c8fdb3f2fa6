-- SUM of a column without bounds, with the line to add to the policy.
SELECT ward FROM stays GROUP BY ward HAVING sum(visits) > 10

-- expect:
--   error: SqlError
--   what: the column 'visits' has no bounds, and this aggregate needs them
--   at: visits
--   fix: add to the policy: [tables.stays.columns]  visits = { bounds = [low, high] }
