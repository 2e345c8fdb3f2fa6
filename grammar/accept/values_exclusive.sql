-- Filters that exclude each other cost once; what a row enters twice costs twice.
SELECT count(*) FILTER (WHERE age < 18) AS young, count(*) FILTER (WHERE age >= 65) AS old,
       count(*) AS n FROM stays;

-- expect:
--   group by: nothing
--   formula: every group
--   amount young: count(*) FILTER (WHERE age < 18) | delta 1
--   amount old: count(*) FILTER (WHERE age >= 65) | delta 1
--   amount n: count(*) | delta 1
--   all at epsilon 1: 2
