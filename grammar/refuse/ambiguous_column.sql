-- A name that two tables have.
SELECT stays.ward FROM stays JOIN wards ON wards.ward = stays.ward GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: the column 'ward' is ambiguous
--   at: ward
--   fix: write stays.ward
