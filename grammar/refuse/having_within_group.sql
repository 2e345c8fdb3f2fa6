-- WITHIN GROUP.
SELECT ward FROM stays GROUP BY ward HAVING percentile_disc(0.5) WITHIN GROUP (ORDER BY age) > 10

-- expect:
--   error: Refused
--   what: WITHIN GROUP is not supported
--   at: percentile_disc(0.5) WITHIN GROUP (ORDER BY age)
--   fix: QUANTILE_DISC(x, p)
