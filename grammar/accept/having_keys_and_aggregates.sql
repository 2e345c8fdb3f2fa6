-- Conditions on keys and on public columns of the group beside one on an aggregate.
SELECT d.name FROM stays s JOIN diseases d ON d.name = s.disease GROUP BY d.name
HAVING d.family = 'viral' AND count(*) > 100 AND d.name LIKE 'm%';

-- expect:
--   group by: name
--   Q1: count(*) > 100
--   = count(*) > 100 | delta 1
--   formula: Q1
