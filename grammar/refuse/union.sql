-- Each SELECT has its own error bounds.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 UNION SELECT ward FROM stays GROUP BY ward HAVING count(*) > 5

-- expect:
--   error: Refused
--   what: UNION is not supported
--   at: UNION
--   fix: send the SELECTs as separate queries
