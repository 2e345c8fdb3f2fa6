-- error() raises for a row.
SELECT ward FROM stays WHERE CASE WHEN name = 'Ann' THEN error('found') ELSE TRUE END GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the function error is not allowed
--   at: error('found')
--   fix: compute the column in a view that the data owner declares, or use abs, round, lower, substring, date_trunc, coalesce, CASE
