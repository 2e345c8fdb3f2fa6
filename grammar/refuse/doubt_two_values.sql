-- A margin is of one value.
SELECT ward, count(*), margin(count(*), 0.9) FROM stays GROUP BY ward HAVING count(*) > 10;

-- expect:
--   error: SqlError
--   what: margin takes one value of the SELECT list
--   at: margin(count(*), 0.9)
--   fix: write margin(count(*))
