-- So does a tautology: a count is never negative.
SELECT ward FROM stays GROUP BY ward HAVING count(*) >= 0;

-- expect:
--   group by: ward
--   formula: every group
