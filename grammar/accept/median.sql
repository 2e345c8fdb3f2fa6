-- MEDIAN(x) > c: as many rows above as not above; the lower median.
SELECT ward FROM stays GROUP BY ward HAVING median(age) > 65;

-- expect:
--   group by: ward
--   Q1: median(age) > 65
--   = count(*) FILTER (WHERE age > 65) - count(*) FILTER (WHERE age <= 65) > 0 | delta 1
--   formula: Q1
