-- More buckets than may be listed.
SELECT floor(weight * 1000) AS w FROM stays GROUP BY w HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: w has 300,003 buckets
--   at: floor(weight * 1000)
--   fix: make them wider, as floor(weight / 20) * 20 does
