-- Rows are not shown beside blocks either.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 UNION SELECT ward FROM stays

-- expect:
--   error: Refused
--   what: a SELECT shows rows of a private table
--   at: SELECT ward FROM stays
--   fix: aggregate them: SELECT count(*) FROM ...
