-- Names of days and months, and dates as texts.
SELECT ward FROM stays
WHERE dayname(admitted) = 'Monday' OR monthname(born) = 'May' OR strftime(seen, '%Y-%m') = '2020-03'
   OR concat(ward, '-', zone) = 'A-1' OR epoch(seen) > 1000
GROUP BY ward HAVING count(*) > 5;

-- expect:
--   group by: ward
--   Q1: count(*) > 5
--   = count(*) > 5 | delta 1
--   formula: Q1
