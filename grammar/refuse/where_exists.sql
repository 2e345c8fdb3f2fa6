-- EXISTS reads rows outside the group.
SELECT ward FROM stays WHERE EXISTS (SELECT 1 FROM stays) GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: EXISTS is not allowed here
--   at: EXISTS (SELECT 1 FROM stays)
--   fix: join a public table on its key
