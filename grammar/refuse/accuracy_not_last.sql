-- Nothing stands after the clause.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (fnr = 0.1) LIMIT 3

-- expect:
--   error: SqlError
--   what: WITH ACCURACY (...) must be the last clause of the query
--   at: LIMIT 3
--   fix: close its parenthesis and put nothing after it
