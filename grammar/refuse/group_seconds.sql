-- The seconds of a date range are too many.
SELECT second(arrived) AS s FROM stays GROUP BY s HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: GROUP BY seconds is not supported
--   at: second(arrived)
--   fix: group by the minute, the hour or the day
