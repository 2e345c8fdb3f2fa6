-- Nor is today.
SELECT ward FROM stays WHERE born < current_date GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: current_date is not allowed here
--   at: current_date
--   fix: write the date: DATE 'YYYY-MM-DD'
