-- So could a quoted name.
SELECT ward FROM 'stays.parquet' GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: there is no table 'stays.parquet' to query
--   at: 'stays.parquet'
--   fix: declared: stays, visitors, people, diseases, wards, floors
