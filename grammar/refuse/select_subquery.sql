-- A subquery would be read without noise.
SELECT ward, (SELECT max(age) FROM stays) FROM stays GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a subquery in an expression is not allowed here
--   at: (SELECT max(age) FROM stays)
--   fix: join a public table on its key
