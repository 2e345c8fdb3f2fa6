-- COUNT FILTER > 0.3 * COUNT: a row weighs 7 or -3.
SELECT ward FROM stays GROUP BY ward HAVING count(*) FILTER (WHERE urgent) > 0.3 * count(*);

-- expect:
--   group by: ward
--   Q1: count(*) FILTER(WHERE urgent) > 0.3 * count(*)
--   = 10 * count(*) FILTER (WHERE urgent) - 3 * count(*) > 0 | delta 7
--   formula: Q1
