-- How sure a value is, as columns: they draw nothing of their own.
SELECT ward, certain(), count(*) AS n, margin(count(*)) AS give, low(n), high(n) AS most
FROM stays GROUP BY ward HAVING count(*) > 10 ORDER BY give;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
