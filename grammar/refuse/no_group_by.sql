-- GROUP BY makes the groups.
SELECT count(*) FROM stays HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the query has HAVING and no GROUP BY
--   at: count(*) > 10
--   fix: GROUP BY a column whose keys the policy declares, or leave HAVING out
