-- A TIMESTAMP WITH TIME ZONE depends on a setting.
SELECT ward FROM stays WHERE year(moment) = 2020 GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: year of a TIMESTAMP WITH TIME ZONE is not supported
--   at: moment
--   fix: expose a plain TIMESTAMP column in a view
