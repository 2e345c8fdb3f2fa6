-- DISTINCT that would make one row of several groups.
SELECT DISTINCT ward FROM stays GROUP BY ward, zone HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: DISTINCT would make one row of several groups, for zone is not selected
--   at: DISTINCT
--   fix: SELECT zone too, or leave DISTINCT out
--   instead: nothing
