-- A number beyond the SELECT list.
SELECT ward FROM stays GROUP BY 2 HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: GROUP BY 2 is not a column of the SELECT list
--   at: 2
