-- Two denominators.
SELECT ward FROM stays GROUP BY ward HAVING avg(age) > avg(zone)

-- expect:
--   error: Refused
--   what: HAVING cannot use two averages or ratios with different denominators
--   at: avg(age) > avg(zone)
--   fix: compare each with a number
