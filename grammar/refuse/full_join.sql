-- Outer joins that add rows.
SELECT stays.ward FROM stays FULL JOIN wards ON wards.ward = stays.ward GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: FULL JOIN is not supported
--   at: FULL JOIN wards ON wards.ward = stays.ward
--   fix: use JOIN or LEFT JOIN to a public table on its key
