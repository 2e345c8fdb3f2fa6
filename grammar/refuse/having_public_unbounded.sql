-- A public factor without bounds.
SELECT disease FROM stays JOIN diseases d ON d.name = disease GROUP BY disease HAVING avg(age) > d.norm

-- expect:
--   error: SqlError
--   what: the public column norm multiplies an aggregate here, and has no bounds
--   at: d.norm
--   fix: declare them in the policy: columns = { name = { type = ..., bounds = [0, 100] } }
