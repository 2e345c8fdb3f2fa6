-- A condition on keys that OR joins to an aggregate.
SELECT ward FROM stays GROUP BY ward HAVING ward = 'A' OR count(*) > 10

-- expect:
--   error: Refused
--   what: OR and NOT join this condition to one on an aggregate, and it reads none
--   at: ward = 'A'
--   fix: ask for the two parts of OR in two queries
