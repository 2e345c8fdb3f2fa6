-- NULL AND FALSE is FALSE, which count counts.
SELECT w.ward, count(s.urgent AND w.beds > 10) FROM wards w LEFT JOIN stays s ON s.ward = w.ward GROUP BY w.ward

-- expect:
--   error: Refused
--   what: a private table may not stand on the right of a LEFT JOIN
--   at: LEFT JOIN stays s ON s.ward = w.ward
--   fix: count a column of it, as count(s.column), and nothing that looks for NULL; or JOIN
--   instead: JOIN stays s ON s.ward = w.ward
