-- COUNT(DISTINCT) of two columns.
SELECT ward FROM stays GROUP BY ward HAVING count(DISTINCT age, zone) > 10

-- expect:
--   error: Refused
--   what: COUNT(DISTINCT) takes one expression
--   at: count(DISTINCT age, zone)
--   fix: count one column
