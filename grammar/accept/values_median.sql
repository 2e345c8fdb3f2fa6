-- A quantile is a value that is chosen by its rank among all that the bounds allow; its margin is in rows.
SELECT ward, median(cost) AS m, quantile_disc(age, 0.9) FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   quantile m: rank 1/2 of cost | delta 1
--   quantile quantile_disc(age, 0.9): rank 9/10 of age | delta 9
--   all at epsilon 1: 2
