-- WHERE: total functions only; a cast or division that fails is NULL.
SELECT ward FROM stays
WHERE lower(trim(name)) LIKE 'a%' AND length(name) BETWEEN 2 AND 40
  AND CAST(name AS INTEGER) IS NULL AND age / zone > 3
  AND year(born) NOT IN (1900, 1901) AND sqrt(age) < 9
  AND coalesce(sex, 'X') <> 'X' AND seen >= '2020-01-01'
GROUP BY ward HAVING count(*) > 10;

-- expect:
--   group by: ward
--   Q1: count(*) > 10
--   = count(*) > 10 | delta 1
--   formula: Q1
