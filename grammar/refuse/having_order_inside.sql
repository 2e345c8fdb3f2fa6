-- ORDER BY inside an aggregate.
SELECT ward FROM stays GROUP BY ward HAVING sum(age ORDER BY seen) > 10

-- expect:
--   error: Refused
--   what: SUM takes one expression
--   at: sum(age ORDER BY seen)
--   fix: write sum(age)
