-- What may stand around values is a table, too.
SELECT ward, lower(sum(cost)) FROM stays GROUP BY ward

-- expect:
--   error: Refused
--   what: lower(sum(cost)) cannot stand around an aggregate
--   at: lower(sum(cost))
--   fix: use linear arithmetic, or a CASE inside the aggregate
