-- A window makes rows depend on rows.
SELECT ward, sum(age) OVER (PARTITION BY ward) FROM stays GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: a window function (OVER) is not allowed
--   at: sum(age) OVER (PARTITION BY ward)
--   fix: use the aggregate without OVER: GROUP BY makes the groups
