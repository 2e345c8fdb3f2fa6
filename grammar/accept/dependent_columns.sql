-- A key of a public table determines the rest of its row: no further groups.
SELECT d.name, d.family, d.cap FROM stays s JOIN diseases d ON d.name = s.disease
GROUP BY d.name, d.family HAVING count(*) > d.cap;

-- expect:
--   group by: name
--   Q1: count(*) > d.cap
--   = count(*) > floor(cap) | delta 1
--   formula: Q1
