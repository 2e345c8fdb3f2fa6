-- T-SQL's CONVERT cuts, a cast rounds.
SELECT count(*) FROM stays WHERE CONVERT(int, age / 8) = 2

-- expect:
--   error: Refused
--   what: CONVERT(INT, x) is not supported
--   at: CONVERT(int, age / 8)
--   fix: CAST(trunc(age / 8) AS INT) cuts, CAST(age / 8 AS INT) rounds; of whole numbers both are the same
