-- A key made of two columns.
SELECT ward || disease AS both FROM stays GROUP BY both HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: GROUP BY ward || disease reads 2 columns
--   at: ward || disease
--   fix: group by the columns one by one
