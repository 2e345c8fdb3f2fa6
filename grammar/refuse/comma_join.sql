-- So does a comma.
SELECT stays.ward FROM stays, wards GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: wards must be joined on its whole key (ward)
--   at: , wards
--   fix: JOIN wards ON wards.ward = stays.ward
--   instead: JOIN wards ON wards.ward = stays.ward
