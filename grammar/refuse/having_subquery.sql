-- A threshold from a subquery.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > (SELECT 5)

-- expect:
--   error: Refused
--   what: a subquery in an expression is not allowed here
--   at: (SELECT 5)
--   fix: join a public table on its key
