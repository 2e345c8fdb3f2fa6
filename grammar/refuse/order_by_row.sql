-- ORDER BY a value of single rows.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 ORDER BY name

-- expect:
--   error: SqlError
--   what: name is neither a group key nor an aggregate
--   at: name
--   fix: add it to GROUP BY, or aggregate it
