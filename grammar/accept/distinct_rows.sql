-- DISTINCT over rows by itself: groups of one row or more.
SELECT DISTINCT ward FROM stays WHERE urgent

-- expect:
--   group by: ward
--   Q1: count(*) >= 1
--   = count(*) > 0 | delta 1
--   formula: Q1
