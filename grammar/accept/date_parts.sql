-- Dates in conditions.
SELECT ward FROM stays
WHERE date_trunc('month', seen) = DATE '2020-03-01'
  AND date_diff('day', admitted, seen) < 7 AND EXTRACT(hour FROM seen) < 12
GROUP BY ward HAVING count(*) > 10;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
