-- One statement at a time.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10; DROP TABLE stays

-- expect:
--   error: Refused
--   what: more than one statement
--   at: ;
--   fix: send one statement at a time
