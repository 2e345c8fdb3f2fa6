-- A value of the wrong type.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (steps = 2.5)

-- expect:
--   error: AccuracyError
--   what: steps must be a whole number
--   at: steps = 2.5
--   fix: write steps = 4
