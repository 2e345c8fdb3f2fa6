-- So does a comma.
SELECT stays.ward FROM stays, wards GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a join needs ON or USING with the public table's key
--   at: wards
--   fix: JOIN wards ON wards.ward = ...
