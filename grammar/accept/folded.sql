-- n > 20 AND n > 10 is n > 20.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 20 AND count(*) > 10;

-- expect:
--   group by: ward
--   Q1: count(*) > 20
--   = count(*) > 20 | delta 1
--   formula: Q1
