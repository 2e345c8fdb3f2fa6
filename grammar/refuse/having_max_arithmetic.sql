-- MAX can only be compared.
SELECT ward FROM stays GROUP BY ward HAVING max(age) - min(age) > 10

-- expect:
--   error: Refused
--   what: max(age) is compared, in HAVING, with a constant, or is a value by itself
--   at: max(age)
--   fix: compare max(age) itself with a number, or SELECT it without HAVING
