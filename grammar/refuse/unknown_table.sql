-- A table that the policy does not declare.
SELECT ward FROM patients GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: SqlError
--   what: there is no table 'patients' to query
--   at: patients
--   fix: declared: stays, visitors, people, diseases, wards, floors
