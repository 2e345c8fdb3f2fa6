-- Order statistics are compared, not released.
SELECT max(age) FROM stays

-- expect:
--   error: Refused
--   what: max(age) can only be compared, in HAVING, with a constant
--   at: max(age)
--   fix: HAVING max(age) > 10
