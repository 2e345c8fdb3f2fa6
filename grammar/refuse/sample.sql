-- A sample would change the answer.
SELECT ward FROM stays TABLESAMPLE 10% GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a table with SAMPLE is not supported
--   at: stays TABLESAMPLE 10
