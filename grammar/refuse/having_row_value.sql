-- A value of single rows beside an aggregate.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > age

-- expect:
--   error: SqlError
--   what: age is a value of single rows, beside an aggregate
--   at: age
--   fix: aggregate it (MIN, MAX, AVG), or move the condition to WHERE
