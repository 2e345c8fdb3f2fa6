-- MAX beside another aggregate.
SELECT ward FROM stays GROUP BY ward HAVING max(age) > count(*)

-- expect:
--   error: Refused
--   what: max(age) can only be compared with a constant or a public column
--   at: max(age) > count(*)
--   fix: compare max(age) with a number
