-- A public factor without bounds.
SELECT disease FROM stays JOIN diseases d ON d.name = disease GROUP BY disease HAVING avg(age) > d.norm

-- expect:
--   error: SqlError
--   what: the public column norm multiplies an aggregate here, and has no bounds
--   at: d.norm
--   fix: the data owner can declare bounds for norm in the policy
