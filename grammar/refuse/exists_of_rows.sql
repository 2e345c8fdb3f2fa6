-- EXISTS over private rows inside of a block joins private rows to private rows.
SELECT ward, count(*) FROM stays s WHERE EXISTS (SELECT 1 FROM visitors v WHERE v.ward = s.ward) GROUP BY ward

-- expect:
--   error: Refused
--   what: a private row is compared with other private rows
--   at: EXISTS (SELECT 1 FROM visitors v WHERE v.ward = s.ward)
--   fix: declare a view in the database that joins them, with its unit; or ask for the keys first: column IN (SELECT key FROM ... GROUP BY key HAVING ...)
