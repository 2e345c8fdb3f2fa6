-- Nor the environment.
SELECT ward FROM stays WHERE getenv('HOME') = name GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the function getenv is not allowed
--   at: getenv('HOME')
--   fix: compute the column in a view that the data owner declares, or use abs, round, lower, substring, date_trunc, coalesce, CASE
