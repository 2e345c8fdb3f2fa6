-- Five rows, of which all may have one ward.
SELECT ward FROM wards WHERE ward IN (SELECT ward FROM stays ORDER BY ward LIMIT 5)

-- expect:
--   error: Refused
--   what: LIMIT of rows cannot stand here
--   at: 5
--   fix: SELECT DISTINCT, of which it keeps values
