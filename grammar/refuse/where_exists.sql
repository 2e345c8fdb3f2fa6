-- EXISTS reads rows outside the group.
SELECT ward FROM stays WHERE EXISTS (SELECT 1 FROM stays) GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a private row is compared with other private rows
--   at: EXISTS (SELECT 1 FROM stays)
--   fix: declare a view in the database that joins them, with its unit; or ask for the keys first: column IN (SELECT key FROM ... GROUP BY key HAVING ...)
