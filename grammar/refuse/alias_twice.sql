-- Two outputs of one name.
SELECT ward AS a, zone AS a FROM stays GROUP BY ward, zone HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: two columns are named 'a'
--   at: zone AS a
--   fix: rename one
