-- A share beyond 1.
SELECT ward FROM stays GROUP BY ward HAVING quantile_disc(age, 1.5) > 10

-- expect:
--   error: SqlError
--   what: the share of a quantile is a number above 0 and at most 1, with at most six decimals
--   at: 1.5
--   fix: MAX(age) is the share 1, and 0.9 is 90 of 100
