-- And EXISTS, where it compares one key with a column of outside.
SELECT w.ward FROM wards w WHERE NOT EXISTS (SELECT 1 FROM stays s WHERE s.ward = w.ward AND s.age > 80)

-- expect:
--   block 1: SELECT s.ward FROM stays AS s WHERE s.age > 80 GROUP BY s.ward HAVING COUNT(*) >= 1
--   around: SELECT w.ward FROM wards AS w WHERE NOT COALESCE(w.ward IN (SELECT * FROM probe_sql_block_1), FALSE)
