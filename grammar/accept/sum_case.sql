-- SUM(CASE ... 1 END) is a conditional count: Delta 1.
SELECT ward FROM stays GROUP BY ward HAVING sum(CASE WHEN sex = 'F' THEN 1 END) > 30;

-- expect:
--   group by: ward
--   Q1: sum(CASE WHEN sex = 'F' THEN 1 END) > 30
--   = sum(CASE WHEN sex = 'F' THEN 1 END) > 30 | delta 1
--   formula: Q1
