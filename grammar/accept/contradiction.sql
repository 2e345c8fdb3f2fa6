-- A contradiction answers at no cost.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 20 AND count(*) < 10;

-- expect:
--   group by: ward
--   formula: no group
