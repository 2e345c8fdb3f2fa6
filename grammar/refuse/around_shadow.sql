-- A CTE has a name of its own.
WITH stays AS (SELECT ward FROM wards) SELECT count(*) FROM stays

-- expect:
--   error: Refused
--   what: a CTE may not have the name of the private table stays
--   at: stays
--   fix: give it another name
