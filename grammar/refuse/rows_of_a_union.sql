-- UNION ALL shows each row, and those of a private table are not shown.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 UNION ALL SELECT ward FROM stays

-- expect:
--   error: Refused
--   what: a SELECT shows rows of a private table
--   at: SELECT ward FROM stays
--   fix: aggregate them: SELECT count(*) FROM ...
