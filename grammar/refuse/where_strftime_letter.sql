-- A letter that strftime does not know here.
SELECT ward FROM stays WHERE strftime(seen, '%Q') = '1' GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: strftime does not know %Q
--   at: strftime(seen, '%Q')
--   fix: use %Y %m %d %H %M %S %j %u %w %B %b %A %a %F %T %%
