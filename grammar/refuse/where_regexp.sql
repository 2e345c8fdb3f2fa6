-- Patterns can be slow or fail.
SELECT ward FROM stays WHERE regexp_matches(name, '(a+)+b') GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a regular expression is not allowed here
--   at: regexp_matches(name, '(a+)+b')
--   fix: use LIKE, starts_with or contains
