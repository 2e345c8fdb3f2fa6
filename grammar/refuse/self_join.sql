-- Nor to themselves.
SELECT a.ward FROM stays a JOIN stays b ON a.ward = b.ward GROUP BY a.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a query reads one private table, once
--   at: stays b
--   fix: declare a view in the database that joins them, with its unit
