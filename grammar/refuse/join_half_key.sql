-- A join on half of the key.
SELECT stays.ward FROM stays JOIN floors ON floors.site = stays.site GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: floors must be joined on its whole key (site, floor)
--   at: JOIN floors ON floors.site = stays.site
--   fix: JOIN floors ON floors.site = stays.site AND floors.floor = stays.floor_no
--   instead: JOIN floors ON floors.site = stays.site AND floors.floor = stays.floor_no
