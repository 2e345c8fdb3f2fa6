-- A share is the mean of 0 and 1: what is counted and what is not move by one together.
SELECT ward, count_if(urgent) / count(*) AS share FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   mean share: count(*) FILTER (WHERE urgent) | delta 1, count(*) - count(*) FILTER (WHERE urgent) | delta 1
--   all at epsilon 1: 1
