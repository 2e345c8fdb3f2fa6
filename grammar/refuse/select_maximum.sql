-- Order statistics are decided, not released.
SELECT ward, max(age) FROM stays GROUP BY ward HAVING max(age) > 100

-- expect:
--   error: Refused
--   what: max(age) is compared, in HAVING, with a constant, or is a value by itself
--   at: max(age)
--   fix: compare max(age) itself with a number, or SELECT it without HAVING
