-- MAX can only be compared.
SELECT ward FROM stays GROUP BY ward HAVING max(age) - min(age) > 10

-- expect:
--   error: Refused
--   what: max(age) is compared, in HAVING, with a constant, or is a value by itself
--   at: max(age)
--   fix: HAVING max(age) > 10, or without HAVING SELECT max(age)
