-- MAX can only be compared.
SELECT ward FROM stays GROUP BY ward HAVING max(age) - min(age) > 10

-- expect:
--   error: Refused
--   what: max(age) can only be compared, in HAVING, with a constant
--   at: max(age)
--   fix: HAVING max(age) > 10
