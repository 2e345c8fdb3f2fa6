-- The same share, as a ratio.
SELECT ward FROM stays GROUP BY ward HAVING count_if(urgent) / count(*) > 0.3;

-- expect:
--   group by: ward
--   Q1: count_if(urgent) / count(*) > 0.3
--   = 10 * count(*) FILTER (WHERE urgent) - 3 * count(*) > 0 | delta 7
--   formula: Q1
