-- An aggregate of unknown sensitivity.
SELECT ward FROM stays GROUP BY ward HAVING stddev(age) > 10

-- expect:
--   error: Refused
--   what: the aggregate stddev is not supported
--   at: stddev(age)
--   fix: compare AVG or a quantile, or select it and compare what is released
