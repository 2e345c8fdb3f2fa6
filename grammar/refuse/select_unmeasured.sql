-- An aggregate that HAVING does not measure needs a margin where each comparison is measured.
SELECT ward, sum(cost) FROM stays GROUP BY ward HAVING count(*) > 10
WITH ACCURACY (algorithm = 'probe')

-- expect:
--   error: SqlError
--   what: HAVING does not measure sum(cost), so its value needs a margin
--   at: sum(cost)
--   fix: add margin = 10, confidence = 0.95 to WITH ACCURACY, or leave it out
