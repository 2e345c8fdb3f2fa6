-- Each option has a value.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (fnr)

-- expect:
--   error: SqlError
--   what: each accuracy option is a name, = and a value
--   at: fnr
--   fix: WITH ACCURACY (fnr = 0.05, algorithm = 'probe')
