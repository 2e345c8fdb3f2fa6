-- A subquery would be read without noise.
SELECT ward, (SELECT max(age) FROM stays) FROM stays GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: max(age) can only be compared, in HAVING, with a constant
--   at: max(age)
--   fix: HAVING max(age) > 10
