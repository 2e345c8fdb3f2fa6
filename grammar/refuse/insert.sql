-- Only queries.
INSERT INTO stays SELECT * FROM stays

-- expect:
--   error: Refused
--   what: INSERT is not a query that can be answered
--   at: INSERT
--   fix: SELECT ... FROM ... GROUP BY ... HAVING ...
