-- MIN and MAX of dates and texts are compared with literals of their type.
SELECT ward FROM stays GROUP BY ward
HAVING min(born) < DATE '1920-01-01' OR max(name) >= 'Z';

-- expect:
--   group by: ward
--   Q1: min(born) < CAST('1920-01-01' AS DATE)
--   = count(*) FILTER (WHERE born < CAST('1920-01-01' AS DATE)) > 0 | delta 1
--   Q2: max(name) >= 'Z'
--   = count(*) FILTER (WHERE name >= 'Z') > 0 | delta 1
--   formula: (Q1 OR Q2)
