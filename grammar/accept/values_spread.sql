-- A variance is made of averages around the middle of the bounds.
SELECT ward, var_pop(age) AS v FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
--   mean avg(abs(((age) - 60) * ((age) - 60))): sum(abs(((age) - 60) * ((age) - 60))) | delta 3600, 3600 * count(abs(((age) - 60) * ((age) - 60))) - sum(abs(((age) - 60) * ((age) - 60))) | delta 3600
--   mean avg((age)) - 60: sum((age)) | delta 120, 120 * count((age)) - sum((age)) | delta 120
--   all at epsilon 1: 2
