-- A join that is not on the public table's key.
SELECT stays.ward FROM stays JOIN wards ON wards.hall = stays.site GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: wards must be joined on its whole key (ward)
--   at: JOIN wards ON wards.hall = stays.site
--   fix: JOIN wards ON wards.ward = stays.ward
--   instead: JOIN wards ON wards.ward = stays.ward
