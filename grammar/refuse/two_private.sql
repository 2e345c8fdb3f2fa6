-- Private rows are not joined to private rows.
SELECT stays.ward FROM stays JOIN visitors ON visitors.ward = stays.ward GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a query reads one private table, once
--   at: visitors
--   fix: declare a view in the database that joins them, with its unit
