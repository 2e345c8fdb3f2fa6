-- A query over public tables alone is answered, free.
SELECT name FROM diseases GROUP BY name HAVING count(*) > 1

-- expect:
--   around: SELECT name FROM diseases GROUP BY name HAVING COUNT(*) > 1
