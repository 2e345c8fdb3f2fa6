-- An unknown option.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (fnrr = 0.1)

-- expect:
--   error: SqlError
--   what: there is no accuracy option named 'fnrr'
--   at: fnrr
--   fix: use one of fnr, fpr, fdr, epsilon, algorithm, primary, u, split, steps, fine_steps, margin, confidence, spend, on_exhausted, fpr_scope, proof, fuse, fresh
