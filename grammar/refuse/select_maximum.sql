-- Order statistics are decided, not released.
SELECT ward, max(age) FROM stays GROUP BY ward HAVING max(age) > 100

-- expect:
--   error: Refused
--   what: max(age) can only be compared, in HAVING, with a constant
--   at: max(age)
--   fix: HAVING max(age) > 10
