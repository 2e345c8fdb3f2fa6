-- SUM(DISTINCT).
SELECT ward FROM stays GROUP BY ward HAVING sum(DISTINCT age) > 10

-- expect:
--   error: Refused
--   what: SUM(DISTINCT x) is not supported
--   at: sum(DISTINCT age)
--   fix: leave DISTINCT out, or COUNT(DISTINCT age)
