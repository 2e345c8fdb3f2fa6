-- A key that stands twice.
SELECT ward FROM stays GROUP BY ward, ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: ward stands twice in GROUP BY
--   at: ward
