-- A number that is too long becomes * in T-SQL.
SELECT count(*) FROM stays WHERE CONVERT(varchar(2), age) = '20'

-- expect:
--   error: Refused
--   what: CONVERT(varchar(2), x) is not supported for what may be a number
--   at: CONVERT(varchar(2), age)
--   fix: left(CAST(age AS VARCHAR), 2) cuts whatever it is
