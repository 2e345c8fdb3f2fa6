-- DISTINCT changes nothing: every group has its own key.
SELECT DISTINCT ward FROM stays NATURAL JOIN wards GROUP BY ward HAVING count(*) > 10;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
