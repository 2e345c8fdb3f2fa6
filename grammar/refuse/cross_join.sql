-- A cross join multiplies rows.
SELECT stays.ward FROM stays CROSS JOIN wards GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: wards must be joined on its whole key (ward)
--   at: CROSS JOIN wards
--   fix: JOIN wards ON wards.ward = stays.ward
--   instead: JOIN wards ON wards.ward = stays.ward
