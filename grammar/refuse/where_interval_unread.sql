-- An interval that says nothing.
SELECT ward FROM stays WHERE born > DATE '2020-01-01' - INTERVAL '1 fortnight' GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: this interval cannot be read
--   at: DATE '2020-01-01' - INTERVAL '1 fortnight'
--   fix: INTERVAL '90' DAY, INTERVAL 3 MONTH, INTERVAL '1 year 2 days'
