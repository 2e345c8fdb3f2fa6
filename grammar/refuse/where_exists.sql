-- EXISTS reads rows outside the group.
SELECT ward FROM stays WHERE EXISTS (SELECT 1 FROM stays) GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: EXISTS over private rows cannot be asked here
--   at: EXISTS (SELECT 1 FROM stays)
--   fix: compare a count, which is measured: (SELECT count(*) FROM ...) > 0
