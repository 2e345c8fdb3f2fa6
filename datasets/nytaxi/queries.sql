-- The shape of the taxi workload. The benchmark writes thresholds by the Z-score rule. Those
-- here are round numbers for trying things out on the stand-in.

-- busy: zones and days with unusually many trips
SELECT pu_location_id, date_trunc('day', pickup_datetime) AS day, count(*) AS trips
FROM trips
GROUP BY pu_location_id, date_trunc('day', pickup_datetime)
HAVING count(*) > 730;

-- conjunction: many trips, many of them paid by card, many expensive
SELECT pu_location_id, date_trunc('day', pickup_datetime) AS day
FROM trips
GROUP BY pu_location_id, date_trunc('day', pickup_datetime)
HAVING count(*) > 730
   AND count(*) FILTER (WHERE payment_type = 1) > 380
   AND count(*) FILTER (WHERE fare_amount > 10) > 280;

-- disjunction: trips to one part of town, trips sent late, expensive trips
SELECT pu_location_id, date_trunc('day', pickup_datetime) AS day
FROM trips
GROUP BY pu_location_id, date_trunc('day', pickup_datetime)
HAVING count(*) FILTER (WHERE do_location_id // 8 = 20) > 50
    OR count(*) FILTER (WHERE store_and_fwd_flag = 'N') > 690
    OR count(*) FILTER (WHERE total_amount > 30) > 55;

-- average fare of zones with enough trips
SELECT pu_location_id, date_trunc('day', pickup_datetime) AS day
FROM trips
GROUP BY pu_location_id, date_trunc('day', pickup_datetime)
HAVING avg(fare_amount) > 18 AND count(*) > 300;
