-- Subqueries only filter, project and rename.
SELECT ward FROM (SELECT ward FROM stays GROUP BY ward) q GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: GROUP BY is not supported in a subquery
--   at: GROUP BY ward
--   fix: a subquery only filters, projects and renames: group outside
