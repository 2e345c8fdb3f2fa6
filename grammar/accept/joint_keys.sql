-- Two columns whose combinations a public table lists.
SELECT site, floor_no FROM stays GROUP BY site, floor_no HAVING count(*) > 3;

-- expect:
--   group by: site, floor_no
--   Q1: count(*) > 3
--   = count(*) > 3 | delta 1
--   formula: Q1
