-- A CTE that filters, projects and renames; clamping reaches through it.
WITH adults AS (SELECT ward AS place, age AS years FROM stays WHERE age >= 18)
SELECT place FROM adults GROUP BY place HAVING avg(years) > 40;

-- expect:
--   group by: place
--   Q1: avg(years) > 40
--   = sum(years) - 40 * count(years) > 0 | delta 80
--   formula: Q1
