-- Only ? parameters.
-- parameters: [10]
SELECT ward FROM stays GROUP BY ward HAVING count(*) > $1

-- expect:
--   error: Refused
--   what: only ? parameters are supported
--   at: $1
--   fix: write ? and pass the values in order
