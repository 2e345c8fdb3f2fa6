-- Another.
SELECT ward FROM stays GROUP BY ward HAVING list(age) IS NOT NULL

-- expect:
--   error: Refused
--   what: HAVING takes no IS NULL
--   at: list(age) IS NOT NULL
--   fix: write count(age) > 0
