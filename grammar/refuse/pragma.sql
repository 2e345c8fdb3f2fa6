-- Nor a setting.
PRAGMA database_list

-- expect:
--   error: Refused
--   what: PRAGMA is not a query that can be answered
--   at: PRAGMA
--   fix: SELECT ... FROM ... GROUP BY ... HAVING ...
