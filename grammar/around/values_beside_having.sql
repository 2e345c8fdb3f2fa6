-- MAX as a value beside HAVING is a value of a second block of the same groups; its threshold stays in the first.
SELECT ward, max(age) AS oldest, avg(cost) / 2 FROM stays WHERE urgent
GROUP BY ward HAVING oldest > 100 AND ward <> 'C' ORDER BY oldest DESC, 3 LIMIT 2

-- expect:
--   block 1: SELECT ward AS "ward", AVG(cost) / 2 AS "avg(cost) / 2" FROM stays WHERE urgent GROUP BY ward HAVING MAX(age) > 100 AND ward <> 'C'
--   block 2: SELECT ward AS "ward", MAX(age) AS "oldest" FROM stays WHERE urgent GROUP BY ward HAVING ward <> 'C'
--   around: SELECT "ward" AS "ward", "oldest" AS "oldest", "avg(cost) / 2" AS "avg(cost) / 2" FROM probe_sql_block_1 LEFT JOIN probe_sql_block_2 USING ("ward") ORDER BY oldest DESC, 3 LIMIT 2
