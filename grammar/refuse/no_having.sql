-- HAVING is the question.
SELECT ward, count(*) FROM stays GROUP BY ward

-- expect:
--   error: Refused
--   what: the query has no HAVING
--   at: ward
--   fix: HAVING count(*) > 100
