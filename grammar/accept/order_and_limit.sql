-- ORDER BY and LIMIT on what is released.
SELECT ward, count(*) AS n FROM stays GROUP BY ward HAVING count(*) > 10
ORDER BY n DESC, 1 LIMIT 5 OFFSET 1;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
