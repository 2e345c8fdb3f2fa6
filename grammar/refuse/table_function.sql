-- A function in FROM could read a file.
SELECT ward FROM read_csv('/etc/passwd') GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: FROM takes a table, a view, a CTE or a subquery
--   at: read_csv('/etc/passwd')
--   fix: name a table that the policy declares
