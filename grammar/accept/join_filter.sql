-- What else stands in ON of an inner join is a filter.
SELECT stays.ward FROM stays JOIN wards ON wards.ward = stays.ward AND beds > 3 AND age < 5
GROUP BY stays.ward HAVING count(*) > 10;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
