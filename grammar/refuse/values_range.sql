-- Arithmetic over extremes: the margin of each is in rows.
SELECT max(age) - min(age) AS span FROM stays

-- expect:
--   error: Refused
--   what: max(age) is compared, in HAVING, with a constant, or is a value by itself
--   at: max(age)
--   fix: HAVING max(age) > 10, or without HAVING SELECT max(age)
