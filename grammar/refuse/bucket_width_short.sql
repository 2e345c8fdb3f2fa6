-- Arguments that are missing.
SELECT width_bucket(age, 0, 100) AS b, count(*) FROM stays GROUP BY b

-- expect:
--   error: SqlError
--   what: width_bucket takes 4 arguments
--   at: width_bucket(age, 0, 100)
--   fix: width_bucket(age, low, high, buckets)
