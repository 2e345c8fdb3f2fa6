-- IN takes a list.
SELECT ward FROM stays WHERE ward IN (SELECT ward FROM wards) GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: IN takes a list of literals
--   at: ward IN (SELECT ward FROM wards)
--   fix: write the values: IN ('a', 'b'), or join a public table on its key
