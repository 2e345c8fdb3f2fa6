-- GROUP BY date_trunc over a declared date range.
SELECT date_trunc('day', arrived) AS day FROM stays GROUP BY day HAVING count(*) > 100;

-- expect:
--   group by: day
--   Q1: count(*) > 100
--   = count(*) > 100 | delta 1
--   formula: Q1
