-- (a OR b) AND (a OR c) becomes a OR (b AND c): three leaves.
SELECT ward FROM stays GROUP BY ward
HAVING (count(*) > 10 OR count_if(urgent) > 5) AND (count(*) > 10 OR count_if(insured) > 7);

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   Q2: count_if(urgent) > 5
--   = count(*) FILTER (WHERE urgent) > 5 | delta 1
--   Q3: count_if(insured) > 7
--   = count(*) FILTER (WHERE insured) > 7 | delta 1
--   formula: (Q1 OR (Q2 AND Q3))
