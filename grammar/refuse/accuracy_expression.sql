-- A value is a literal.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (fnr = ward)

-- expect:
--   error: SqlError
--   what: the value of an accuracy option is a number, a string, true or false
--   at: fnr = ward
--   fix: epsilon = 1.0, algorithm = 'probe'
