-- A date that does not exist.
SELECT ward FROM stays WHERE born = '2020-02-30' GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: '2020-02-30' is not a valid date
--   at: '2020-02-30'
--   fix: '2020-03-01' for a date, '2020-03-01 08:30:00' for a timestamp
