-- A threshold for each group, from a public table joined on the group key.
SELECT disease FROM stays JOIN diseases ON diseases.name = stays.disease
GROUP BY disease HAVING count(*) > diseases.cap;

-- expect:
--   group by: disease
--   Q1: count(*) > diseases.cap
--   = count(*) > floor(cap) | delta 1
--   formula: Q1
