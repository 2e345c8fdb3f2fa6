-- HAVING decides by the data, not by how sure a value is.
SELECT ward, count(*) AS n FROM stays GROUP BY ward HAVING margin(n) < 5;

-- expect:
--   error: Refused
--   what: margin stands by itself in the SELECT list
--   at: margin(n)
--   fix: SELECT n, margin(n)
