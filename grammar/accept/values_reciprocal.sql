-- A constant divided by a count: the count is measured, the rest is arithmetic.
SELECT 100 / (count(*)) FROM stays;

-- expect:
--   group by: nothing
--   formula: every group
--   amount count(*): count(*) | delta 1
--   all at epsilon 1: 1
