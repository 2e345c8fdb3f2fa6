-- round(v, 1) > c asks whether v reaches the middle before the next step.
SELECT ward FROM stays GROUP BY ward HAVING round(avg(age), 1) > 64.9 AND round(sum(cost), -2) <= -300;

-- expect:
--   group by: ward
--   Q1: avg(age) >= 64.95
--   = 20 * sum(age) - 1299 * count(age) > -1, where count(age) > 0 | delta 1299
--   Q2: sum(cost) <= -250
--   = -1 * (sum(100 * cost)) > 24999 | delta 1000000
--   formula: (Q1 AND Q2)
