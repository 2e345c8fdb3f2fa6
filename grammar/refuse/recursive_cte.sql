-- A recursive CTE multiplies rows.
WITH RECURSIVE r AS (SELECT * FROM stays) SELECT ward FROM r GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a recursive CTE is not supported
--   at: RECURSIVE
--   fix: WITH name AS (SELECT ... FROM ... WHERE ...)
