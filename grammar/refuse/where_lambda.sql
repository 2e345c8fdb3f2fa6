-- Lambdas.
SELECT ward FROM stays WHERE list_filter([1], x -> x > age) IS NULL GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: the function list_filter is not allowed here
--   at: list_filter([1], x -> x > age)
--   fix: compute the column in a view that the data owner declares
