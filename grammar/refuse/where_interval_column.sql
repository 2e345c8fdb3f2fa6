-- An interval that is added to a column can leave the range of dates.
SELECT ward FROM stays WHERE born + INTERVAL '1' DAY > admitted GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: an interval is added to a column
--   at: born + INTERVAL '1' DAY > admitted
--   fix: write date_diff('second', born, admitted) < 86400
