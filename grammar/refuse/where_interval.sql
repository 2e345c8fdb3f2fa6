-- Intervals can leave the range of dates.
SELECT ward FROM stays WHERE born + INTERVAL 1 DAY > seen GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: INTERVAL arithmetic is not allowed here
--   at: born + INTERVAL 1 DAY
--   fix: shift the constant you compare with, or use date_diff
