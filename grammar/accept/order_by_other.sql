-- ORDER BY what is not selected measures it, as SELECT would.
SELECT ward FROM stays GROUP BY ward HAVING count(*) > 10 ORDER BY round(avg(age)) DESC, ward;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
