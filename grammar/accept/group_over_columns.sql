-- An expression over several columns with keys: every combination is known.
SELECT concat(ward, zone) FROM stays GROUP BY concat(ward, zone) HAVING count(*) > 10;

-- expect:
--   group by: concat(ward, zone)
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
