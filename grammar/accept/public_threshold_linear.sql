-- Arithmetic over public columns beside the aggregate.
SELECT s.disease FROM stays s LEFT JOIN diseases d ON d.name = s.disease
GROUP BY s.disease HAVING count(*) >= 2 * d.cap + 10;

-- expect:
--   group by: disease
--   Q1: count(*) >= 2 * d.cap + 10
--   = count(*) > ceil(2 * cap + 10) - 1 | delta 1
--   formula: Q1
