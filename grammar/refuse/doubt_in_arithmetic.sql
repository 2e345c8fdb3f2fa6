-- A margin stands by itself.
SELECT ward, 2 * margin(count(*)) FROM stays GROUP BY ward;

-- expect:
--   error: Refused
--   what: margin stands by itself in the SELECT list
--   at: margin(count(*))
--   fix: SELECT count(*), margin(count(*))
