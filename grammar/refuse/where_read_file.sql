-- Nothing may read a file.
SELECT ward FROM stays WHERE read_text('/etc/passwd') IS NOT NULL GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the function read_text is not allowed
--   at: read_text('/etc/passwd')
--   fix: compute the column in a view that the data owner declares, or use abs, round, lower, substring, date_trunc, coalesce, CASE
