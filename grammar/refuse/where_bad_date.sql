-- A date that does not exist.
SELECT ward FROM stays WHERE born = '2020-02-30' GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: '2020-02-30' is not a valid date
--   at: '2020-02-30'
--   fix: a date is written 'YYYY-MM-DD', a timestamp 'YYYY-MM-DD HH:MM:SS'
