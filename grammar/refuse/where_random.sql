-- random() differs at every call.
SELECT ward FROM stays WHERE random() < 0.5 GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: random() is not allowed here
--   at: random()
--   fix: leave it out: the noise is added for you
