-- GROUP BY a column of a public table.
SELECT family FROM stays JOIN diseases d ON d.name = stays.disease
GROUP BY family HAVING count(*) > 100;

-- expect:
--   group by: family
--   Q1: count(*) > 100
--   = count(*) > 100 | delta 1
--   formula: Q1
