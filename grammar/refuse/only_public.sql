-- A query over public tables needs no privacy.
SELECT name FROM diseases GROUP BY name HAVING count(*) > 1

-- expect:
--   error: Refused
--   what: FROM names no private table
--   at: diseases
--   fix: name a private table: stays, visitors, people
