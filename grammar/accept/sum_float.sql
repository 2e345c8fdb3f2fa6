-- A DOUBLE in [-1, 1] is rounded to a grid of 2^-19.
SELECT ward FROM stays GROUP BY ward HAVING sum(score) > 12;

-- expect:
--   group by: ward
--   Q1: sum(score) > 12
--   = sum(524288 * score) > 6291456 | delta 524288
--   formula: Q1
