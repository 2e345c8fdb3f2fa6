-- Every option of WITH ACCURACY.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10
WITH ACCURACY (fnr = 0.05, fpr = 0.1, epsilon = 2, algorithm = 'probe-ent', primary = 'fnr',
  u = 0.3, split = 0.5, steps = 4, fine_steps = 3, margin = 10, confidence = 0.95,
  on_exhausted = 'mark', fpr_scope = 'rate', fuse = false);

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
