-- More atoms than the logic takes.
SELECT ward FROM stays GROUP BY ward HAVING count_if(age = 0) > 0 OR count_if(age = 1) > 1 OR count_if(age = 2) > 2 OR count_if(age = 3) > 3 OR count_if(age = 4) > 4 OR count_if(age = 5) > 5 OR count_if(age = 6) > 6 OR count_if(age = 7) > 7 OR count_if(age = 8) > 8 OR count_if(age = 9) > 9 OR count_if(age = 10) > 10 OR count_if(age = 11) > 11 OR count_if(age = 12) > 12 OR count_if(age = 13) > 13 OR count_if(age = 14) > 14 OR count_if(age = 15) > 15 OR count_if(age = 16) > 16

-- expect:
--   error: Refused
--   what: HAVING has 17 distinct comparisons; at most 16 are supported
--   fix: split the query in two, or merge comparisons on one aggregate (BETWEEN instead of IN)
