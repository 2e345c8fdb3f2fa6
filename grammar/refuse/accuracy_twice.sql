-- An option given twice.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (fnr = 0.1, fnr = 0.2)

-- expect:
--   error: SqlError
--   what: the option fnr is given twice
--   at: fnr = 0.2
