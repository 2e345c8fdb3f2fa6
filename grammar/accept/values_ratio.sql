-- Any other quotient is a ratio of two amounts, which cost both.
SELECT ward, sum(paid) / sum(cost) AS r FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   ratio r: sum(10000 * paid) | delta 5005000, sum(100 * cost) | delta 1000000
--   all at epsilon 1: 2
