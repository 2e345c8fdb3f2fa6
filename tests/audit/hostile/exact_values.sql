-- Exact values: through SELECT, ORDER BY, LIMIT, HAVING, EXPLAIN and other aggregates.
-- Each query is preceded by the error it must raise and a part of its message.
--! Refused: SELECT * is not supported
SELECT * FROM patients
--! SqlError: disease is neither a group key nor an aggregate
SELECT disease FROM patients
--! SqlError: cost is neither a group key nor an aggregate
SELECT cost FROM patients ORDER BY cost DESC LIMIT 1
--! SqlError: there is no column 'note' to use
SELECT DISTINCT note FROM patients
--! SqlError: age is neither a group key nor an aggregate
SELECT disease, age FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: max(cost) is compared, in HAVING, with a constant, or is a value
SELECT disease, max(cost) FROM patients GROUP BY disease HAVING max(cost) - count(*) > 1
--! Refused: min(age) is compared, in HAVING, with a constant, or is a value
SELECT disease, min(age) AS youngest FROM patients GROUP BY disease HAVING 2 * youngest < 5
--! Refused: median(age) is compared, in HAVING, with a constant, or is a value
SELECT disease, median(age) FROM patients GROUP BY disease HAVING median(age) + 1 > 50
--! Refused: the aggregate any_value is not supported
SELECT disease, any_value(note) FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: the aggregate first is not supported
SELECT disease, first(note) FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: the aggregate list is not supported
SELECT disease, list(note) FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: the aggregate string_agg is not supported
SELECT disease, string_agg(note, ',') FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: the aggregate arg_max is not supported
SELECT disease, arg_max(note, cost) FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: the function histogram is not allowed
SELECT disease, histogram(age) FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: the aggregate approx_top_k is not supported
SELECT disease, approx_top_k(age, 3) FROM patients GROUP BY disease HAVING count(*) > 1
--! SqlError: HAVING does not measure
SELECT disease, sum(cost) FROM patients GROUP BY disease HAVING count(*) > 1 WITH ACCURACY (algorithm = 'probe')
--! SqlError: HAVING does not measure
SELECT disease, count(*) + sum(cost) FROM patients GROUP BY disease HAVING count(*) > 1 WITH ACCURACY (algorithm = 'probe')
--! SqlError: cost is neither a group key nor an aggregate
SELECT disease, max(cost) OVER () FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: the value of max(disease) is not supported
SELECT disease, row_number() OVER (ORDER BY max(disease)) FROM patients GROUP BY disease
--! Refused: the value of max(disease) is not supported
SELECT disease, (SELECT max(disease) FROM patients) FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: EXISTS over private rows cannot be asked here
SELECT disease, EXISTS (SELECT 1 FROM patients WHERE cost > 4000000) FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: the value of max(disease) is not supported
SELECT disease FROM patients GROUP BY disease HAVING count(*) > (SELECT max(disease) FROM patients)
--! Refused: EXISTS over private rows cannot be asked here
SELECT disease FROM patients GROUP BY disease HAVING EXISTS (SELECT 1 FROM patients WHERE note LIKE 'Z%')
--! Refused: a private row is compared with other private rows
SELECT disease FROM patients p GROUP BY disease HAVING EXISTS (SELECT 1 FROM patients q WHERE q.cost > p.cost)
--! Refused: a private row is compared with other private rows
SELECT count(*) FROM patients p WHERE cost >= (SELECT max(q.cost) FROM patients q WHERE q.ward = p.ward)
--! SqlError: is neither a group key nor an aggregate
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 ORDER BY cost
--! Refused: the value of max(disease) is not supported
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 ORDER BY max(disease) DESC
--! Refused: a subquery may not stand in LIMIT
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 LIMIT (SELECT count(*) FROM patients)
--! SqlError: LIMIT takes a whole number
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 LIMIT 50%
--! Refused: a subquery may not stand in OFFSET
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 OFFSET (SELECT 1)
--! SqlError: LIMIT takes a whole number
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 LIMIT count(*)
--! SqlError: note is neither a group key nor an aggregate
SELECT disease FROM patients GROUP BY disease QUALIFY row_number() OVER (ORDER BY note) = 1
--! SqlError: there is no column 'note' to use
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 UNION SELECT note FROM patients
--! SqlError: the column 'cost' has no declared keys
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 UNION SELECT cost FROM patients
--! SqlError: there is no column 'note' to use
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 UNION ALL SELECT note FROM patients GROUP BY note HAVING count(*) > 2
--! SqlError: there is no column 'note' to use
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 EXCEPT SELECT note FROM patients
--! SqlError: the column 'cost' has no declared keys
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 EXCEPT SELECT cost FROM patients
--! SqlError: there is no column 'note' to use
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 INTERSECT SELECT note FROM patients
--! SqlError: the column 'cost' has no declared keys
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 INTERSECT SELECT cost FROM patients
--! Refused: OR and NOT join this condition
SELECT disease FROM patients GROUP BY disease HAVING disease = 'flu' OR count(*) > 1
--! SqlError: reads single rows
SELECT disease FROM patients GROUP BY disease HAVING age > 3
--! SqlError: age is a value of single rows, beside an
SELECT disease FROM patients GROUP BY disease HAVING count(*) > age
--! Refused: HAVING cannot use a ratio of anything but two
SELECT disease FROM patients GROUP BY disease HAVING avg(age) > avg(cost) / avg(age)
--! Refused: HAVING cannot use a product of aggregates
SELECT disease FROM patients GROUP BY disease HAVING count(*) * count(*) > 4
--! Refused: HAVING takes comparisons of aggregates, not
SELECT disease FROM patients GROUP BY disease HAVING bool_or(cost > 4000000)
--! Refused: the aggregate mode is not supported
SELECT disease FROM patients GROUP BY disease HAVING mode(age) = 41
--! Refused: the function entropy is not allowed
SELECT disease FROM patients GROUP BY disease HAVING entropy(age) > 0
--! Refused: the aggregate corr is not supported
SELECT disease FROM patients GROUP BY disease HAVING corr(age, cost) > 0
--! Refused: SUM(DISTINCT x) is not supported
SELECT disease FROM patients GROUP BY disease HAVING sum(DISTINCT cost) > 0
--! SqlError: the share of a quantile
SELECT disease FROM patients GROUP BY disease HAVING quantile_cont(cost, 0) > 4000000
--! Refused: the aggregate product is not supported
SELECT disease FROM patients GROUP BY disease HAVING product(age) > 1
--! Refused: the aggregate bit_xor is not supported
SELECT disease FROM patients GROUP BY disease HAVING bit_xor(age) > 1
--! Refused: HAVING takes no IS NULL
SELECT disease FROM patients GROUP BY disease HAVING count(*) IS NOT NULL
--! SqlError: there is no column 'note' to use
SELECT note FROM patients GROUP BY note HAVING count(*) > 0
--! SqlError: the column 'cost' has no declared keys, so it
SELECT cost FROM patients GROUP BY cost HAVING count(*) > 0
--! SqlError: the column 'age' has no declared keys, so it
SELECT age FROM patients GROUP BY age HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT hash(disease) FROM patients GROUP BY hash(note) HAVING count(*) > 0
--! Refused: reads 2 columns
SELECT ward || CAST(age AS VARCHAR) FROM patients GROUP BY ward || CAST(age AS VARCHAR) HAVING count(*) > 0
--! Refused: a row value is not allowed here
SELECT count(*) FROM patients GROUP BY () HAVING count(*) > 0
--! Refused: INTO is not supported in the query
SELECT disease INTO TEMP leak FROM patients GROUP BY disease HAVING count(*) > 0
--! Refused: FOR UPDATE is not supported in the query
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1 FOR UPDATE
--! Refused: the function columns is not allowed here
SELECT COLUMNS(*) FROM patients GROUP BY disease HAVING count(*) > 1
--! SqlError: there is no column 'patients' to use
SELECT patients FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: a struct is not allowed here
SELECT {'a': disease} FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: a struct is not allowed here
SELECT struct_pack(a := note) FROM patients GROUP BY disease HAVING count(*) > 1
--! SqlError: there is no column 'patients' to use
SELECT to_json(patients) FROM patients GROUP BY disease HAVING count(*) > 1
--! SqlError: there is no column 'rowid' to use
SELECT rowid FROM patients GROUP BY rowid HAVING count(*) > 0
--! SqlError: there is no column 'rowid' to use
SELECT disease FROM patients WHERE rowid = 1 GROUP BY disease HAVING count(*) > 0
--! Refused: EXPLAIN ANALYZE is not supported
EXPLAIN ANALYZE SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: EXPLAIN ANALYZE is not supported
EXPLAIN ANALYSE SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1
--! SqlError: there is no column 'note' to use
EXPLAIN SELECT note FROM patients GROUP BY note HAVING count(*) > 0
--! Refused: EXPLAIN is not a query that can be answered
EXPLAIN EXPLAIN SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1
--! SqlError: syntax error near 'SELECT'
EXPLAIN (FORMAT json) SELECT disease FROM patients GROUP BY disease HAVING count(*) > 1
--! Refused: DESCRIBE is not a query that can be answered
DESCRIBE patients
--! Refused: SUMMARIZE is not a query that can be answered
SUMMARIZE patients
--! Refused: SHOW is not a query that can be answered
SHOW TABLES
--! Refused: SHOW is not a query that can be answered
SHOW ALL TABLES
--! Refused: SELECT * is not supported
FROM patients
--! SqlError: there is no column 'note' to use
FROM patients SELECT disease GROUP BY disease HAVING max(note) > 'a'
--! Refused: TABLE is not a query that can be answered
TABLE patients
--! Refused: VALUES is not a query that can be answered
VALUES (1)
--! Refused: PIVOT is not a query that can be answered
PIVOT patients ON ward USING count(*)
--! Refused: UNPIVOT is not a query that can be answered
UNPIVOT patients ON age INTO NAME n VALUE v
