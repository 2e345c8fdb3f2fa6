-- An unknown algorithm.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (algorithm = 'guess')

-- expect:
--   error: AccuracyError
--   what: algorithm = 'guess' is not one of naive, apex, probe, probe-naive, probe-ent, ladder
--   at: algorithm = 'guess'
--   fix: write algorithm = 'ladder'
