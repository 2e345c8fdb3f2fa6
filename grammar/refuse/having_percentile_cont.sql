-- Interpolated quantiles.
SELECT ward FROM stays GROUP BY ward HAVING quantile_cont(age, 0.5) > 10

-- expect:
--   error: Refused
--   what: the aggregate quantile_cont is not supported
--   at: quantile_cont(age, 0.5)
--   fix: use QUANTILE_DISC(x, p): it needs no interpolation
