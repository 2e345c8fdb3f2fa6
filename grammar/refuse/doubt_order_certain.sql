-- What is certain may depend on the order.
SELECT ward, certain() AS sure FROM stays GROUP BY ward HAVING count(*) > 10 ORDER BY sure;

-- expect:
--   error: Refused
--   what: ORDER BY cannot name certain()
--   at: sure
--   fix: order by a value or a key
