-- Filters that exclude each other: a row weighs 1 or -1, never both.
SELECT ward FROM stays GROUP BY ward HAVING count_if(sex = 'F') - count_if(sex = 'M') > 10;

-- expect:
--   group by: ward
--   Q1: count_if(sex = 'F') - count_if(sex = 'M') > 10
--   = count(*) FILTER (WHERE sex = 'F') - count(*) FILTER (WHERE sex = 'M') > 10 | delta 1
--   formula: Q1
