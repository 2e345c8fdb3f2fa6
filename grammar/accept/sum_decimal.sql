-- SUM of a DECIMAL(10,2) in [0, 10000]: cents, Delta = 1,000,000.
SELECT ward FROM stays GROUP BY ward HAVING sum(cost) > 250000.505;

-- expect:
--   group by: ward
--   Q1: sum(cost) > 250000.505
--   = sum(100 * cost) > 25000050 | delta 1000000
--   formula: Q1
