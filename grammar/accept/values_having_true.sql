-- A condition that every group satisfies asks for values.
SELECT ward, sum(age) FROM stays GROUP BY ward HAVING count(*) >= 0;

-- expect:
--   group by: ward
--   formula: every group
--   amount sum(age): sum(age) | delta 120
--   all at epsilon 1: 1
