-- A falling order would be another quantile.
SELECT ward FROM stays GROUP BY ward HAVING percentile_disc(0.9) WITHIN GROUP (ORDER BY age DESC) > 80

-- expect:
--   error: Refused
--   what: WITHIN GROUP takes percentile_disc or percentile_cont, and one rising order
--   at: percentile_disc(0.9) WITHIN GROUP (ORDER BY age DESC)
--   fix: order by one expression, rising
