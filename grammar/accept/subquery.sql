-- A subquery in FROM that filters and projects.
SELECT q.ward FROM (SELECT *, age / 10 AS decade FROM stays WHERE insured) AS q
GROUP BY q.ward HAVING sum(q.decade) > 100;

-- expect:
--   group by: ward
--   Q1: sum(q.decade) > 100
--   = sum(10 * q.decade) > 1000 | delta 120
--   formula: Q1
