-- LIKE with ESCAPE.
SELECT ward FROM stays WHERE name LIKE 'a!%' ESCAPE '!' GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: LIKE with ESCAPE is not allowed here
--   at: name LIKE 'a!%' ESCAPE '!'
--   fix: use contains, starts_with or ends_with
