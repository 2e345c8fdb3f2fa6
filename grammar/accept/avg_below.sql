-- AVG(x) < c: the atom of the negated sum.
SELECT ward FROM stays GROUP BY ward HAVING avg(age) < 5;

-- expect:
--   group by: ward
--   Q1: avg(age) < 5
--   = -1 * (sum(age) - 5 * count(age)) > 0 | delta 115
--   formula: Q1
