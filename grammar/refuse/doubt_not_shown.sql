-- The margin of a value that is not shown.
SELECT ward, margin(count(*)) FROM stays GROUP BY ward HAVING count(*) > 10;

-- expect:
--   error: Refused
--   what: margin is of a value that the SELECT list does not show
--   at: margin(count(*))
--   fix: SELECT count(*), margin(count(*))
