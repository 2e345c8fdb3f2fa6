-- COUNT_IF is COUNT(*) FILTER: the two are one measure.
SELECT ward FROM stays GROUP BY ward
HAVING count_if(sex = 'F') > 10 AND count(*) FILTER (WHERE sex = 'F') < 100;

-- expect:
--   group by: ward
--   Q1: count_if(sex = 'F') > 10
--   = count(*) FILTER (WHERE sex = 'F') > 10 | delta 1
--   Q2: count(*) FILTER(WHERE sex = 'F') < 100
--   = -1 * (count(*) FILTER (WHERE sex = 'F')) > -100 | delta 1
--   formula: (Q1 AND Q2)
