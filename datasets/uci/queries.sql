-- The shape of the campus workload. The benchmark writes thresholds by the Z-score rule. Those
-- here are round numbers for trying things out on the stand-in.

-- crowded: rooms and days with unusually many visits
SELECT room, day, count(*) AS visits FROM visits GROUP BY room, day
HAVING count(*) > 900;

-- conjunction: crowded by the young and by beginners
SELECT room, day FROM visits GROUP BY room, day
HAVING count(*) > 900
   AND count(*) FILTER (WHERE age_band = '0-35') > 600
   AND count(*) FILTER (WHERE user_type = 'A Level or Equivalent') > 400;

-- combination
SELECT room, day FROM visits GROUP BY room, day
HAVING count(*) > 900
    OR (count(*) FILTER (WHERE gender = 'M') > 600
        AND count(*) FILTER (WHERE group_name IN ('Scotland', 'London Region')) > 180);
