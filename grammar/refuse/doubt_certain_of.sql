-- Whole groups are certain.
SELECT ward, certain(ward) FROM stays GROUP BY ward HAVING count(*) > 10;

-- expect:
--   error: SqlError
--   what: certain() takes nothing
--   at: certain(ward)
--   fix: write certain()
