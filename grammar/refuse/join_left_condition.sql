-- A condition in the ON of a LEFT JOIN is no filter.
SELECT stays.ward FROM stays LEFT JOIN wards ON wards.ward = stays.ward AND beds > 3 GROUP BY stays.ward HAVING count(*) > 10

-- expect:
--   error: Refused
--   what: LEFT JOIN takes nothing in ON but the public table's key
--   at: beds > 3
--   fix: write it in WHERE, where it drops the row, or in CASE WHEN
