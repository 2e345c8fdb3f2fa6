-- A join that is no equality.
SELECT stays.ward FROM stays JOIN wards ON wards.ward >= stays.ward GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: wards must be joined on its whole key (ward)
--   at: JOIN wards ON wards.ward >= stays.ward
--   fix: JOIN wards ON wards.ward = stays.ward
--   instead: JOIN wards ON wards.ward = stays.ward
