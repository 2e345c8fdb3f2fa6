-- Another.
SELECT ward FROM stays GROUP BY ward HAVING mode(sex) = 'F'

-- expect:
--   error: Refused
--   what: the aggregate mode is not supported
--   at: mode(sex)
--   fix: compare counts of the values you care about
