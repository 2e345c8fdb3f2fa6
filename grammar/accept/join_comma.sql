-- A comma, with the key of the public table in WHERE.
SELECT family FROM stays, diseases d WHERE d.name = stays.disease AND age > 17
GROUP BY family HAVING count(*) > 100;

-- expect:
--   group by: family
--   Q1: count(*) > 100
--   = count(*) > 100 | delta 1
--   formula: Q1
