-- A CASE between literals names its groups itself, whatever its conditions read.
SELECT CASE WHEN age < 18 THEN 'young' WHEN age < 65 AND insured THEN 'middle' ELSE 'old' END AS band, count(*) AS n FROM stays GROUP BY band;

-- expect:
--   group by: band
--   formula: every group
--   amount n: count(*) | delta 1
--   all at epsilon 1: 1
