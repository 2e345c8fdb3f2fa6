-- Other tables, files, settings, secrets, the ledger; statements that are no queries.
-- Each query is preceded by the error it must raise and a part of its message.
--! SqlError: there is no table 'vault_keys' to query
SELECT secret FROM vault_keys GROUP BY secret HAVING count(*) > 0
--! SqlError: there is no table 'sqlite_master' to query
SELECT x FROM sqlite_master GROUP BY x HAVING count(*) > 0
--! Refused: information_schema is no schema that can be named here
SELECT table_name FROM information_schema.tables GROUP BY table_name HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT table_name FROM duckdb_tables() GROUP BY table_name HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT name FROM duckdb_settings() GROUP BY name HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT name FROM duckdb_secrets() GROUP BY name HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT * FROM read_csv('/etc/passwd') GROUP BY ALL HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT content FROM read_text('clinic.duckdb.ledger') GROUP BY content HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT content FROM read_blob('*.ledger') GROUP BY content HAVING count(*) > 0
--! SqlError: there is no table '/etc/passwd' to query
SELECT a FROM '/etc/passwd' GROUP BY a HAVING count(*) > 0
--! SqlError: there is no table 'clinic.duckdb.ledger' to
SELECT a FROM "clinic.duckdb.ledger" GROUP BY a HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT a FROM sqlite_scan('clinic.duckdb.ledger', 'charges') GROUP BY a HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT a FROM glob('*') GROUP BY a HAVING count(*) > 0
--! Refused: clinic is no database that can be named here
SELECT disease FROM clinic.main.patients GROUP BY disease HAVING count(*) > 0
--! SqlError: there is no table 'probe_sql_domain_0' to query
SELECT disease FROM probe_sql_domain_0 GROUP BY disease HAVING count(*) > 0
--! Refused: a query reads one private table, once
SELECT disease FROM patients, patients p2 GROUP BY disease HAVING count(*) > 0
--! Refused: diseases must be joined on its whole key
SELECT disease FROM patients CROSS JOIN diseases GROUP BY disease HAVING count(*) > 0
--! Refused: diseases must be joined on its whole key
SELECT disease FROM patients JOIN diseases ON true GROUP BY disease HAVING count(*) > 0
--! Refused: diseases must be joined on its whole key
SELECT disease FROM patients JOIN diseases ON cap > age GROUP BY disease HAVING count(*) > 0
--! Refused: diseases must be joined on its whole key
SELECT disease FROM patients JOIN diseases ON name = disease OR true GROUP BY disease HAVING count(*) > 0
--! Refused: diseases must be joined on its whole key (name)
SELECT disease FROM patients JOIN diseases ON cap = age GROUP BY disease HAVING count(*) > 0
--! Refused: diseases shares no column with the tables before it
SELECT disease FROM patients NATURAL JOIN diseases GROUP BY disease HAVING count(*) > 0
--! Refused: RIGHT JOIN is not supported
SELECT disease FROM patients RIGHT JOIN diseases ON name = disease GROUP BY disease HAVING count(*) > 0
--! Refused: FULL JOIN is not supported
SELECT disease FROM patients FULL JOIN diseases ON name = disease GROUP BY disease HAVING count(*) > 0
--! Refused: SEMI JOIN is not supported
SELECT disease FROM patients SEMI JOIN diseases ON name = disease GROUP BY disease HAVING count(*) > 0
--! Refused: ANTI JOIN is not supported
SELECT disease FROM patients ANTI JOIN diseases ON name = disease GROUP BY disease HAVING count(*) > 0
--! Refused: ASOF JOIN is not supported
SELECT disease FROM patients ASOF JOIN diseases ON name >= disease GROUP BY disease HAVING count(*) > 0
--! Refused: POSITIONAL JOIN is not supported
SELECT disease FROM patients POSITIONAL JOIN diseases GROUP BY disease HAVING count(*) > 0
--! Refused: a query reads one private table, once
SELECT a.disease FROM patients a JOIN patients b ON a.disease = b.disease GROUP BY a.disease HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT disease FROM patients, LATERAL (SELECT 1) l GROUP BY disease HAVING count(*) > 0
--! Refused: an alias with COLUMNS is not supported
SELECT disease FROM patients, unnest([1, 2, 3]) u(n) GROUP BY disease HAVING count(*) > 0
--! Refused: an alias with COLUMNS is not supported
SELECT disease FROM patients, range(1000) r(n) GROUP BY disease HAVING count(*) > 0
--! Refused: an alias with COLUMNS is not supported
SELECT disease FROM patients, generate_series(1, age) r(n) GROUP BY disease HAVING count(*) > 0
--! Refused: a table with SAMPLE is not supported
SELECT disease FROM patients TABLESAMPLE 10% GROUP BY disease HAVING count(*) > 0
--! Refused: a sample is not supported in the query
SELECT disease FROM patients USING SAMPLE 1 ROWS GROUP BY disease HAVING count(*) > 0
--! Refused: a table with WHEN is not supported
SELECT disease FROM patients AT (VERSION => 1) GROUP BY disease HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT disease FROM query('SELECT * FROM patients') GROUP BY disease HAVING count(*) > 0
--! Refused: FROM takes a table, a view, a CTE or a subquery
SELECT disease FROM query_table('patients') GROUP BY disease HAVING count(*) > 0
--! Refused: a SELECT shows rows of a private table
SELECT disease FROM (SELECT disease, count(*) AS n FROM patients GROUP BY disease) q WHERE n > (SELECT age FROM patients LIMIT 1)
--! Refused: LIMIT is not supported in a subquery
SELECT disease FROM (SELECT * FROM patients LIMIT 1) GROUP BY disease HAVING count(*) > 0
--! Refused: ORDER BY is not supported in a subquery
SELECT disease FROM (SELECT * FROM patients ORDER BY cost DESC) GROUP BY disease HAVING count(*) > 0
--! Refused: a subquery may only filter, project and rename
SELECT disease FROM (SELECT disease, max(cost) OVER () AS m FROM patients) GROUP BY disease HAVING count(*) > 0
--! Refused: the function unnest is not allowed here
SELECT disease FROM (SELECT disease, unnest([1,2]) AS n FROM patients) GROUP BY disease HAVING count(*) > 0
--! Refused: the function pg_sleep is not allowed around
SELECT pg_sleep(disease) FROM (VALUES (9)) v(disease)
--! Refused: a subquery must be a plain SELECT
SELECT disease FROM (SELECT disease FROM patients UNION ALL SELECT disease FROM patients) GROUP BY disease HAVING count(*) > 0
--! Refused: a recursive CTE is not supported
WITH RECURSIVE r AS (SELECT disease FROM patients UNION ALL SELECT disease FROM r) SELECT disease FROM r GROUP BY disease HAVING count(*) > 0
--! Refused: a recursive CTE is not supported
WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n FROM r GROUP BY n HAVING count(*) > 0
--! SqlError: the column 'cost' has no declared keys
WITH c AS MATERIALIZED (SELECT disease, sum(cost) AS s FROM patients GROUP BY 1) SELECT disease FROM c WHERE s IN (SELECT cost FROM patients)
--! Refused: DELETE in parentheses is not a query that can be answered
WITH c AS (DELETE FROM patients RETURNING *) SELECT disease FROM c GROUP BY disease HAVING count(*) > 0
--! Refused: a query reads one private table, once
WITH diseases AS (SELECT * FROM patients) SELECT disease FROM diseases JOIN patients USING (disease) GROUP BY disease HAVING count(*) > 0
--! Refused: PRAGMA is not a query that can be answered
PRAGMA database_list
--! Refused: PRAGMA is not a query that can be answered
PRAGMA show_tables
--! Refused: ATTACH is not a query that can be answered
ATTACH 'other.duckdb' AS o
--! Refused: ATTACH is not a query that can be answered
ATTACH 'clinic.duckdb.ledger' AS l (TYPE sqlite)
--! Refused: DETACH is not a query that can be answered
DETACH clinic
--! Refused: COPY is not a query that can be answered
COPY patients TO 'leak.csv'
--! Refused: COPY is not a query that can be answered
COPY (SELECT * FROM patients) TO 'leak.parquet' (FORMAT parquet)
--! Refused: EXPORT is not a query that can be answered
EXPORT DATABASE 'leak'
--! Refused: IMPORT is not a query that can be answered
IMPORT DATABASE 'leak'
--! Refused: INSTALL is not a query that can be answered
INSTALL httpfs
--! Refused: LOAD is not a query that can be answered
LOAD httpfs
--! Refused: SET is not a query that can be answered
SET enable_external_access = true
--! Refused: SET is not a query that can be answered
SET lock_configuration = false
--! Refused: SET is not a query that can be answered
SET VARIABLE x = 1
--! Refused: RESET is not a query that can be answered
RESET ALL
--! Refused: CREATE is not a query that can be answered
CREATE TABLE leak AS SELECT * FROM patients
--! Refused: CREATE is not a query that can be answered
CREATE VIEW leak AS SELECT * FROM patients
--! Refused: CREATE is not a query that can be answered
CREATE MACRO f(x) AS x
--! Refused: CREATE is not a query that can be answered
CREATE SECRET s (TYPE s3)
--! Refused: INSERT is not a query that can be answered
INSERT INTO diseases VALUES ('x', 1)
--! Refused: UPDATE is not a query that can be answered
UPDATE diseases SET cap = 0
--! Refused: DELETE is not a query that can be answered
DELETE FROM patients
--! Refused: DROP is not a query that can be answered
DROP TABLE patients
--! Refused: TRUNCATE is not a query that can be answered
TRUNCATE patients
--! Refused: ALTER is not a query that can be answered
ALTER TABLE patients ADD COLUMN x INTEGER
--! Refused: VACUUM is not a query that can be answered
VACUUM
--! Refused: CHECKPOINT is not a query that can be answered
CHECKPOINT
--! Refused: CALL is not a query that can be answered
CALL duckdb_settings()
--! Refused: PREPARE is not a query that can be answered
PREPARE p AS SELECT * FROM patients
--! Refused: EXECUTE is not a query that can be answered
EXECUTE p
--! Refused: BEGIN is not a query that can be answered
BEGIN TRANSACTION
--! Refused: USE is not a query that can be answered
USE memory
--! Refused: COMMENT is not a query that can be answered
COMMENT ON TABLE patients IS 'x'
--! Refused: more than one statement
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 0; SELECT * FROM patients
--! Refused: more than one statement
SELECT disease FROM patients GROUP BY disease HAVING count(*) > 0; DROP TABLE patients; --
--! Refused: DROP is not a query that can be answered
/* innocent */ DROP TABLE patients
--! Refused: DROP is not a query that can be answered
EXPLAIN DROP TABLE patients
--! Refused: COPY is not a query that can be answered
EXPLAIN COPY patients TO 'leak.csv'
