-- A subquery over private rows in a condition.
SELECT ward FROM stays WHERE age > (SELECT avg(age) FROM stays) GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a subquery in an expression is not allowed here
--   at: (SELECT avg(age) FROM stays)
--   fix: join a public table on its key
