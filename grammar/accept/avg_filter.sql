-- AVG with FILTER.
SELECT ward FROM stays GROUP BY ward HAVING avg(cost) FILTER (WHERE urgent) >= 120.25;

-- expect:
--   group by: ward
--   Q1: avg(cost) FILTER(WHERE urgent) >= 120.25
--   = sum(100 * cost) FILTER (WHERE urgent) - 12025 * count(cost) FILTER (WHERE urgent) > -1, where count(cost) FILTER (WHERE urgent) > 0 | delta 987975
--   formula: Q1
