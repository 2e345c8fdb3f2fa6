-- An aggregate inside a CTE would be read without noise.
WITH m AS (SELECT max(age) AS top FROM stays) SELECT top FROM m GROUP BY top HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a subquery may only filter, project and rename
--   at: max(age)
--   fix: aggregate in the outer query
