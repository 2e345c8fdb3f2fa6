-- All combinations of several keys, by name, number and expression.
SELECT ward, zone % 2 AS odd, month(admitted) FROM stays GROUP BY ward, odd, 3
HAVING count(*) > 10;

-- expect:
--   group by: ward, odd, month(admitted)
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
