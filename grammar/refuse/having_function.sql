-- A function around an aggregate.
SELECT ward FROM stays GROUP BY ward HAVING sqrt(count(*)) > 3

-- expect:
--   error: Refused
--   what: sqrt(count(*)) cannot stand around an aggregate
--   at: sqrt(count(*))
--   fix: use linear arithmetic, or a CASE inside the aggregate
