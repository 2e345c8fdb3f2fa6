-- An aggregate that HAVING does not measure is drawn for its margin.
SELECT ward, sum(cost) AS total FROM stays GROUP BY ward HAVING count(*) > 10
WITH ACCURACY (margin = 5000, confidence = 0.9);

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
--   also drawn: sum(100 * cost) | epsilon 4.606
