-- IN takes a list.
SELECT ward FROM stays GROUP BY ward HAVING count(*) IN (SELECT beds FROM wards)

-- expect:
--   error: Refused
--   what: IN takes a list of numbers
--   at: count(*) IN (SELECT beds FROM wards)
--   fix: count(*) IN (1, 2, 3)
