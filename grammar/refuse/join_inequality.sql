-- A join that is no equality.
SELECT stays.ward FROM stays JOIN wards ON wards.ward >= stays.ward GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a join condition may only equate a public table's key
--   at: wards.ward >= stays.ward
--   fix: ON public.key = private.column, and the rest in WHERE
