-- A share beyond 1.
SELECT ward FROM stays GROUP BY ward HAVING quantile_disc(age, 1.5) > 10

-- expect:
--   error: SqlError
--   what: the share of QUANTILE_DISC is a number above 0 and at most 1, with at most six decimals
--   at: 1.5
--   fix: MIN(age) is the share 0
