-- Comments and strings that look like the clause are left alone.
/* WITH ACCURACY (fnr = 9) */ SELECT ward FROM stays -- HAVING
WHERE name <> 'WITH ACCURACY (fpr = 1)' GROUP BY ward HAVING count(*) > 10;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
