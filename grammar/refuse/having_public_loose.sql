-- A public column that the group does not determine.
SELECT zone FROM stays JOIN wards ON wards.ward = stays.ward GROUP BY zone HAVING count(*) > wards.beds

-- expect:
--   error: SqlError
--   what: wards.beds is not determined by the group
--   at: wards.beds
--   fix: join the public table on the GROUP BY columns, or add the column to GROUP BY
