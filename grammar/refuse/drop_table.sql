-- Only queries.
DROP TABLE stays

-- expect:
--   error: Refused
--   what: DROP is not a query that can be answered
--   at: DROP
--   fix: SELECT ... FROM ... GROUP BY ... HAVING ...
