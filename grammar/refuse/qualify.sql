-- QUALIFY works on windows.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 QUALIFY row_number() OVER () = 1

-- expect:
--   error: Refused
--   what: QUALIFY is not supported in the query
--   at: QUALIFY row_number() OVER () = 1
--   fix: use HAVING
