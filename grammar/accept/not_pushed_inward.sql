-- NOT (a OR b) is NOT a AND NOT b; NULL still selects nothing.
SELECT ward FROM stays GROUP BY ward HAVING NOT (count(*) > 100 OR avg(age) > 65);

-- expect:
--   group by: ward
--   Q1: count(*) <= 100
--   = -1 * count(*) > -101 | delta 1
--   Q2: avg(age) <= 65
--   = -sum(age) + 65 * count(age) > -1, where count(age) > 0 | delta 65
--   formula: (Q1 AND Q2)
