-- ? is filled in the order of the text, the clause included.
-- parameters: [18, 'F', 250, 0.02]
SELECT ward FROM stays WHERE age > ? AND sex = ? GROUP BY ward HAVING count(*) > ?
WITH ACCURACY (fnr = ?);

-- expect:
--   group by: ward
--   Q1: count(*) > 250
--   = count(*) > 250 | delta 1
--   formula: Q1
