-- SUM of a text.
SELECT ward FROM stays GROUP BY ward HAVING sum(name) > 10

-- expect:
--   error: SqlError
--   what: SUM needs a number, and this is a text
--   at: name
--   fix: CAST(x AS DOUBLE): NULL where it is no number
