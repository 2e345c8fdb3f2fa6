-- A product of aggregates.
SELECT ward FROM stays GROUP BY ward HAVING count(*) * avg(age) > 10

-- expect:
--   error: Refused
--   what: HAVING cannot use a product of aggregates
--   at: count(*) * avg(age)
--   fix: compare each aggregate with a number, and write AND or OR between
