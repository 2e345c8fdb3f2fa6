-- So do GROUPING SETS.
SELECT ward, zone FROM stays GROUP BY GROUPING SETS ((ward), (zone)) HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: GROUPING SETS is not supported
--   at: GROUPING SETS ((ward), (zone))
--   fix: GROUP BY the columns, in one query for each set
