-- LIMIT inside picks rows by their order.
SELECT ward FROM (SELECT * FROM stays LIMIT 10) q GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: LIMIT is not supported in a subquery
--   at: LIMIT 10
--   fix: leave it out: which rows it keeps depends on their order
