-- The introductory query: four atoms, two aggregates.
SELECT disease, count(*) AS cases
FROM stays
WHERE origin = 'home'
GROUP BY disease
HAVING (count(*) > 500 AND avg(age) > 65) OR (count(*) > 200 AND avg(age) < 5)
WITH ACCURACY (fnr = 0.05, fpr = 0.10, epsilon = 1.0, algorithm = 'probe');

-- expect:
--   group by: disease
--   Q1: count(*) > 500
--   = count(*) > 500 | delta 1
--   Q2: avg(age) > 65
--   = sum(age) - 65 * count(age) > 0 | delta 65
--   Q3: count(*) > 200
--   = count(*) > 200 | delta 1
--   Q4: avg(age) < 5
--   = -1 * (sum(age) - 5 * count(age)) > 0 | delta 115
--   formula: ((Q1 AND Q2) OR (Q3 AND Q4))
