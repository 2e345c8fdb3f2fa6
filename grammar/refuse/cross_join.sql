-- A cross join multiplies rows.
SELECT stays.ward FROM stays CROSS JOIN wards GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: CROSS JOIN is not supported
--   at: CROSS JOIN wards
--   fix: use JOIN or LEFT JOIN to a public table on its key
