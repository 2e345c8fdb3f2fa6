-- concat() is not ||.
SELECT ward FROM stays WHERE concat(name, sex) = 'AnnF' GROUP BY ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: concat is not allowed here
--   at: concat(name, sex)
--   fix: use ||
