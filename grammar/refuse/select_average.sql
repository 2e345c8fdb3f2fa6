-- The value of an average needs its count: HAVING measures another one.
SELECT ward, avg(age) FROM stays GROUP BY ward HAVING avg(age) > 65 AND count(*) > 10
WITH ACCURACY (algorithm = 'probe')

-- expect:
--   error: SqlError
--   what: HAVING does not measure count(age), which the value of avg(age) needs
--   at: avg(age)
--   fix: add margin = 10, confidence = 0.95 to WITH ACCURACY, or leave it out
