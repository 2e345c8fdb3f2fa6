-- A value is a number.
SELECT ward, CAST(count(*) AS VARCHAR) FROM stays GROUP BY ward

-- expect:
--   error: Refused
--   what: an aggregate cannot be cast to TEXT
--   at: count(*)
--   fix: cast to a whole number, DECIMAL(p,s) or DOUBLE
