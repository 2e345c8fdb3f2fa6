-- A denominator that may be negative.
SELECT ward FROM stays GROUP BY ward HAVING sum(age) / sum(paid) > 2

-- expect:
--   error: Refused
--   what: a ratio needs a denominator that is never negative
--   at: sum(age) / sum(paid)
--   fix: divide by a count, or by a sum of a column whose lower bound is 0 or more
