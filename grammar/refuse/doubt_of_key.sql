-- A key is exact.
SELECT ward, low(ward) FROM stays GROUP BY ward HAVING count(*) > 10;

-- expect:
--   error: SqlError
--   what: ward is no measured value
--   at: low(ward)
--   fix: leave it out
