-- Lists.
SELECT ward FROM stays WHERE [age, zone][1] > 3 GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: an element of a list is not allowed here
--   at: age, zone
--   fix: compute the column in a view that the data owner declares
