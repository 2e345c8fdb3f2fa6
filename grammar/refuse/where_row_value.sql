-- Row values.
SELECT ward FROM stays WHERE (age, zone) = (1, 2) GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a row value is not allowed here
--   at: age, zone
--   fix: compute the column in a view that the data owner declares
