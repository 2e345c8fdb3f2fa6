-- So does IN, from around blocks.
SELECT w.ward FROM wards w WHERE w.ward NOT IN (SELECT ward FROM stays WHERE age > 80)

-- expect:
--   block 1: SELECT ward FROM stays WHERE age > 80 GROUP BY ward HAVING COUNT(*) >= 1
--   around: SELECT w.ward FROM wards AS w WHERE NOT w.ward IN (SELECT * FROM probe_sql_block_1)
