-- What might never end is not begun.
WITH RECURSIVE r AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r

-- expect:
--   error: Refused
--   what: a recursive CTE is not supported
--   at: RECURSIVE
--   fix: WITH name AS (SELECT ... FROM ... WHERE ...)
