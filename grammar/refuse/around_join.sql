-- What was made of released values has no key.
WITH a AS (SELECT ward, count(*) AS n FROM stays GROUP BY ward), b AS (SELECT ward FROM a WHERE n > 5) SELECT count(*) FROM stays JOIN b USING (ward)

-- expect:
--   error: Refused
--   what: a private table cannot be joined with what was made of released values
--   at: b
--   fix: WHERE column IN (SELECT ... FROM ...), or join outside of the block
