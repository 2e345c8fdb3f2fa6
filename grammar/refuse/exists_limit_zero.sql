-- LIMIT 0 leaves no row for EXISTS to find.
SELECT w.ward FROM wards w WHERE EXISTS (SELECT 1 FROM stays s WHERE s.ward = w.ward LIMIT 0)

-- expect:
--   error: Refused
--   what: LIMIT 0, LIMIT of what is no number, and OFFSET cannot stand here
--   at: 0
--   fix: leave it out
