-- Arithmetic that may overflow.
SELECT ward FROM stays WHERE giant * giant > 1 GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: this arithmetic may overflow
--   at: giant * giant
--   fix: CAST the columns to BIGINT or DOUBLE first
