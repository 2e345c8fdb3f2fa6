-- EXISTS reads rows outside the group.
SELECT ward FROM stays WHERE EXISTS (SELECT 1 FROM stays) GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a SELECT shows rows of a private table
--   at: EXISTS (SELECT 1 FROM stays)
--   fix: aggregate them: SELECT count(*) FROM ...
