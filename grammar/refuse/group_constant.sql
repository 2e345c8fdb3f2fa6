-- A key that reads no column.
SELECT 1 + 1 AS two FROM stays GROUP BY two HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: GROUP BY 1 + 1 reads no columns
--   at: 1 + 1
--   fix: name a column with keys
