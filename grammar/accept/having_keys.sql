-- A condition on keys alone says which groups are asked for: no row decides it.
SELECT ward, count(*) FROM stays GROUP BY ward HAVING ward <> 'C';

-- expect:
--   group by: ward
--   formula: every group
--   amount count(*): count(*) | delta 1
--   all at epsilon 1: 1
