-- A clause inside a subquery is about one block, so that a value beside HAVING has none of its own.
SELECT m FROM (SELECT ward, max(age) AS m FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (epsilon = 0.5)) q

-- expect:
--   error: Refused
--   what: max(age) is compared, in HAVING, with a constant, or is a value by itself
--   at: max(age)
--   fix: compare max(age) itself with a number, or SELECT it without HAVING
