-- Nor may the database be named, since the policy belongs to one.
SELECT count(*) FROM clinic.main.stays

-- expect:
--   error: Refused
--   what: clinic is no database that can be named here
--   at: clinic.main.stays
--   fix: write stays
