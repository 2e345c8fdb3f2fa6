-- A public table with a key of two columns.
SELECT s.site, floor_no FROM stays s
JOIN floors f ON f.site = s.site AND f.floor = s.floor_no
GROUP BY s.site, floor_no HAVING count(*) > f.rooms;

-- expect:
--   group by: site, floor_no
--   Q1: count(*) > f.rooms
--   = count(*) > floor(rooms) | delta 1
--   formula: Q1
