-- GROUP BY ALL takes the keys of the SELECT list.
SELECT ward, urgent, count(*) FROM stays GROUP BY ALL HAVING count(*) > 10;

-- expect:
--   group by: ward, urgent
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
