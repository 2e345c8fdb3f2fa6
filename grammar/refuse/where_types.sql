-- Types are never converted by guess.
SELECT ward FROM stays WHERE age = 'seventy' GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: an integer cannot be compared with a text
--   at: age = 'seventy'
--   fix: write the literal in the column's type, or CAST one side
