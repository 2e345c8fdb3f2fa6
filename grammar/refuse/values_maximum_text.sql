-- The value of a text: there is no list of all that it could be.
SELECT max(name) FROM stays

-- expect:
--   error: Refused
--   what: the value of max(name) is not supported: it is no number
--   at: max(name)
--   fix: compare it with a constant, in HAVING
