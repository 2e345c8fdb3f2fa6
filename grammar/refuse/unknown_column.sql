-- A column that the policy does not declare.
SELECT ward FROM stays WHERE agee > 3 GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: there is no column 'agee' to use
--   at: agee
--   fix: did you mean age?
--   instead: age
