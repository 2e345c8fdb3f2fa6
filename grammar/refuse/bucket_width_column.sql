-- The ends of buckets stand in the query.
SELECT width_bucket(age, 0, steps, 10) AS b, count(*) FROM stays GROUP BY b

-- expect:
--   error: SqlError
--   what: width_bucket takes two numbers of the query, the smaller first
--   at: width_bucket(age, 0, steps, 10)
--   fix: width_bucket(age, low, high, buckets), with two numbers that you know
