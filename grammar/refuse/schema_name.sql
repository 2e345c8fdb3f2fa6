-- A policy's tables are those of one schema.
SELECT count(*) FROM hr.stays

-- expect:
--   error: Refused
--   what: hr is no schema that can be named here
--   at: hr.stays
--   fix: write stays
