-- SUM of a text.
SELECT ward FROM stays GROUP BY ward HAVING sum(name) > 10

-- expect:
--   error: SqlError
--   what: SUM needs a number, and this is a text
--   at: name
--   fix: cast it to DOUBLE, which is NULL where it is no number, and bound it
