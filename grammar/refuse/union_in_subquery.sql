-- Rows must not multiply.
SELECT ward FROM (SELECT ward FROM stays UNION ALL SELECT ward FROM stays) q GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a subquery must be a plain SELECT
--   at: (SELECT ward FROM stays UNION ALL SELECT ward FROM stays)
--   fix: SELECT ... FROM ... WHERE ...
