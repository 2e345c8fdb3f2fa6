-- power() overflows.
SELECT ward FROM stays WHERE power(age, 400) > 1 GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: power is not allowed here
--   at: power(age, 400)
--   fix: a power from 1 to 4, written as a number
