-- A condition on keys belongs in WHERE.
SELECT ward FROM stays GROUP BY ward HAVING ward = 'A'

-- expect:
--   error: Refused
--   what: this condition of HAVING reads no aggregate
--   at: ward = 'A'
--   fix: move it to WHERE
