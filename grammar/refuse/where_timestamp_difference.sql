-- The difference of two timestamps is no number.
SELECT ward FROM stays WHERE arrived - seen > INTERVAL '1' HOUR GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the difference of two timestamps is written with date_diff
--   at: arrived - seen > INTERVAL '1' HOUR
--   fix: write date_diff('second', seen, arrived) > 3600
