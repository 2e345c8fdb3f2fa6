-- Ties of noisy values.
SELECT ward FROM stays GROUP BY ward ORDER BY count(*) DESC FETCH FIRST 3 ROWS WITH TIES

-- expect:
--   error: Refused
--   what: WITH TIES is not supported
--   at: 3
--   fix: leave WITH TIES out: the answer says how many others may be among them
