-- Nor a file.
COPY stays TO 'out.csv'

-- expect:
--   error: Refused
--   what: COPY is not a query that can be answered
--   at: COPY
--   fix: SELECT ... FROM ... GROUP BY ... HAVING ...
