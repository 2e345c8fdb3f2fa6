-- Keys are public: nothing is drawn.
SELECT ward FROM stays GROUP BY ward;

-- expect:
--   group by: ward
--   formula: every group
