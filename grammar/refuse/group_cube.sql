-- So does CUBE.
SELECT ward, zone FROM stays GROUP BY CUBE (ward, zone) HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: CUBE is not supported
--   at: CUBE (ward, zone)
--   fix: GROUP BY the columns, in one query for each set
