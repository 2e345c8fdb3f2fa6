-- A condition, or a column of truth values, has two groups.
SELECT age >= 65 AS old, insured, count(*) AS n FROM stays GROUP BY old, insured;

-- expect:
--   group by: old, insured
--   formula: every group
--   amount n: count(*) | delta 1
--   all at epsilon 1: 1
