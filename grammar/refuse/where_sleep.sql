-- Nothing may wait for a row.
SELECT ward FROM stays WHERE sleep_ms(age) IS NULL GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the function sleep_ms is not allowed
--   at: sleep_ms(age)
--   fix: compute the column in a view that the data owner declares, or use abs, round, lower, substring, date_trunc, coalesce, CASE
