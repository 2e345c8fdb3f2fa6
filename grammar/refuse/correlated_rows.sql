-- So does an aggregate for the key of each row.
SELECT count(*) FROM stays s WHERE age > (SELECT avg(o.age) FROM stays o WHERE o.ward = s.ward)

-- expect:
--   error: Refused
--   what: a private row is compared with other private rows
--   at: (SELECT avg(o.age) FROM stays o WHERE o.ward = s.ward)
--   fix: declare a view in the database that joins them, with its unit; or ask for the keys first: column IN (SELECT key FROM ... GROUP BY key HAVING ...)
