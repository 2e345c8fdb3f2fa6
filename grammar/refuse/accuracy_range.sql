-- A value out of range.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (fnr = 0.7)

-- expect:
--   error: AccuracyError
--   what: fnr = 0.7 is out of range (0, 0.5)
--   at: fnr = 0.7
--   fix: write fnr = 0.05
