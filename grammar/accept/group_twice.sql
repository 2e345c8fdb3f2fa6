-- A key that stands twice makes no further groups.
SELECT ward FROM stays GROUP BY ward, ward HAVING count(*) > 10;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
