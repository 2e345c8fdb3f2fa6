-- How many distinct values there are, NULL left out, is one value.
SELECT count(who) FROM (SELECT DISTINCT name AS who FROM stays WHERE urgent) AS names

-- expect:
--   group by: nothing
--   formula: every group
--   amount count(DISTINCT name): count(DISTINCT name) | delta 1
--   all at epsilon 1: 1
