-- Aggregates belong to HAVING.
SELECT ward FROM stays WHERE count(*) > 5 GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: an aggregate (count) cannot stand here
--   at: count(*)
--   fix: move the condition to HAVING
