-- No statement reaches another database.
ATTACH 'other.db'

-- expect:
--   error: Refused
--   what: ATTACH is not a query that can be answered
--   at: ATTACH
--   fix: SELECT ... FROM ... GROUP BY ... HAVING ...
