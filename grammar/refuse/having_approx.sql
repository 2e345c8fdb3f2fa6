-- Another.
SELECT ward FROM stays GROUP BY ward HAVING approx_count_distinct(name) > 10

-- expect:
--   error: Refused
--   what: the aggregate approx_count_distinct is not supported
--   at: approx_count_distinct(name)
--   fix: write count(DISTINCT name)
