-- A product of aggregates.
SELECT ward FROM stays GROUP BY ward HAVING count(*) * avg(age) > 10

-- expect:
--   error: Refused
--   what: HAVING cannot use a product of aggregates
--   at: count(*) * avg(age)
--   fix: multiply out: SUM(a) > 2 * SUM(b) instead of a product or nested ratio
