-- A subquery would be read without noise.
SELECT ward, (SELECT max(name) FROM stays) FROM stays GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the value of max(name) is not supported: it is no number
--   at: max(name)
--   fix: compare it with a constant, in HAVING
