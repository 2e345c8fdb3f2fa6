-- A share of a value is a margin for counts and sums: an average is not proportional to its noise.
SELECT ward, avg(age) FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (margin = '5%')

-- expect:
--   error: Refused
--   what: the margin of avg(age) cannot be a share of it
--   at: avg(age)
--   fix: margin = 10, or select counts and sums
