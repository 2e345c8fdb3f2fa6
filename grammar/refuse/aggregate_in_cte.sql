-- An aggregate inside a CTE would be read without noise.
WITH m AS (SELECT max(age) AS top FROM stays) SELECT top FROM m GROUP BY top HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: max(age) can only be compared, in HAVING, with a constant
--   at: max(age)
--   fix: HAVING max(age) > 10
