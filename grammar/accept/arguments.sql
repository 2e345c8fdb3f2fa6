-- Options may also come as arguments; the clause goes first.
-- options: {'algorithm': 'naive', 'fnr': 0.2}
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 WITH ACCURACY (fnr = .01);

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
