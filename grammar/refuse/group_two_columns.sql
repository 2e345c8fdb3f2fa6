-- A key made of two columns, one of which has no keys.
SELECT ward || name AS both FROM stays GROUP BY both HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: GROUP BY ward || name reads 2 columns
--   at: ward || name
--   fix: group by columns with keys
