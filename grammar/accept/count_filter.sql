-- FILTER: only rows that pass it weigh 1.
SELECT ward FROM stays GROUP BY ward HAVING count(*) FILTER (WHERE urgent AND age >= 65) > 10;

-- expect:
--   group by: ward
--   Q1: count(*) FILTER(WHERE urgent AND age >= 65) > 10
--   = count(*) FILTER (WHERE urgent AND age >= 65) > 10 | delta 1
--   formula: Q1
