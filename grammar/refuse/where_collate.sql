-- COLLATE changes comparisons.
SELECT ward FROM stays WHERE name COLLATE NOCASE = 'ann' GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: COLLATE is not allowed here
--   at: name
--   fix: compare lower(...) with a text in small letters
