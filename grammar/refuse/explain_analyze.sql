-- EXPLAIN never runs the query.
EXPLAIN ANALYZE SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: EXPLAIN ANALYZE is not supported
--   at: ANALYZE
--   fix: EXPLAIN SELECT ... shows the plan at no cost
