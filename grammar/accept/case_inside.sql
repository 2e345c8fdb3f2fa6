-- CASE, COALESCE and clamps inside an aggregate.
SELECT ward FROM stays GROUP BY ward
HAVING sum(CASE WHEN urgent THEN coalesce(age, 0) ELSE 2 * zone END) > 1000;

-- expect:
--   group by: ward
--   Q1: sum(CASE WHEN urgent THEN coalesce(age, 0) ELSE 2 * zone END) > 1000
--   = sum(CASE WHEN urgent THEN coalesce(age, 0) ELSE 2 * zone END) > 1000 | delta 200
--   formula: Q1
