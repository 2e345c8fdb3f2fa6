-- An aggregate inside a CTE would be read without noise.
WITH m AS (SELECT max(name) AS top FROM stays) SELECT top FROM m GROUP BY top HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the value of max(name) is not supported: it is no number
--   at: max(name)
--   fix: compare it with a constant, in HAVING
