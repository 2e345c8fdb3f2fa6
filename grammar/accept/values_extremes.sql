-- The extremes of disjoint rows cost once.
SELECT min(age) FILTER (WHERE sex = 'f') AS f, max(age) FILTER (WHERE sex = 'm') AS m FROM stays;

-- expect:
--   group by: nothing
--   formula: every group
--   quantile f: rank 0 of age FILTER (WHERE sex = 'f') | delta 1
--   quantile m: rank 1 of age FILTER (WHERE sex = 'm') | delta 1
--   all at epsilon 1: 1
