-- count(*) would count NULL among the distinct names.
SELECT count(*) FROM (SELECT DISTINCT name AS who FROM stays WHERE urgent) AS names

-- expect:
--   error: Refused
--   what: COUNT(*) of distinct values counts NULL as one of them
--   at: count(*)
--   fix: count the values that are not NULL: count(DISTINCT name) of the table
--   instead: count(who)
