-- Bounds that no exact integer holds.
SELECT ward FROM stays GROUP BY ward HAVING sum(steps * steps * steps) > 10

-- expect:
--   error: Refused
--   what: the bounds of this sum are too wide for exact integers
--   at: steps * steps * steps
--   fix: the data owner can declare tighter bounds, or a coarser granularity; or bound it, with numbers that you know: LEAST(GREATEST(..., low), high)
