-- Intervals are added to dates that are written in the query.
SELECT ward FROM stays
WHERE admitted >= DATE '2020-01-31' + INTERVAL '1' MONTH AND admitted < DATE '2020-03-20' - INTERVAL 3 DAY
  AND admitted - born > 365
GROUP BY ward HAVING count(*) > 5;

-- expect:
--   group by: ward
--   Q1: count(*) > 5
--   = count(*) > 5 | delta 1
--   formula: Q1
