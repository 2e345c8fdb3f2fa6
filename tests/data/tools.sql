-- What tools ask a PostgreSQL server for when they connect and look around. The questions were
-- written anew after what their sources and their users' logs show: the same tables, columns, joins, functions and
-- operators, in our own words. Behind `--!` stands the tool, what it wants, and how many rows must
-- come: a number, `some`, `any`, or `refused`.

--! DBeaver, where it is: 1
SELECT current_schema(), session_user
--! DBeaver, the version: 1
SELECT version()
--! DBeaver, the databases: 1
SELECT db.oid, db.* FROM pg_catalog.pg_database db WHERE 1 = 1 AND datallowconn AND NOT datistemplate ORDER BY db.datname
--! DBeaver, the search path: 1
SELECT reset_val FROM pg_settings WHERE name = 'search_path'
--! DBeaver, schemas with their comments: 3
SELECT n.oid, n.*, d.description FROM pg_catalog.pg_namespace n
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = n.oid AND d.objsubid = 0 AND d.classoid = 'pg_namespace'::regclass
ORDER BY nspname
--! DBeaver, types: some
SELECT t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) AS base_type_name, d.description
FROM pg_catalog.pg_type t
LEFT OUTER JOIN pg_catalog.pg_type et ON et.oid = t.typelem
LEFT OUTER JOIN pg_catalog.pg_class c ON c.oid = t.typrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON t.oid = d.objoid
WHERE t.typname IS NOT NULL AND (c.relkind IS NULL OR c.relkind = 'c') AND (et.typcategory IS NULL OR et.typcategory <> 'C')
ORDER BY t.oid
--! DBeaver, tables: 2
SELECT c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) AS partition_expr, pg_catalog.pg_get_partkeydef(c.oid) AS partition_key
FROM pg_catalog.pg_class c
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_class'::regclass
WHERE c.relnamespace = 2200 AND c.relkind NOT IN ('i', 'I', 'c')
--! DBeaver, columns: some
SELECT c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) AS def_value, dsc.description, dep.objid
FROM pg_catalog.pg_attribute a
INNER JOIN pg_catalog.pg_class c ON (a.attrelid = c.oid)
LEFT OUTER JOIN pg_catalog.pg_attrdef ad ON (a.attrelid = ad.adrelid AND a.attnum = ad.adnum)
LEFT OUTER JOIN pg_catalog.pg_description dsc ON (c.oid = dsc.objoid AND a.attnum = dsc.objsubid)
LEFT OUTER JOIN pg_depend dep ON dep.refobjid = a.attrelid AND dep.deptype = 'i' AND dep.refobjsubid = a.attnum AND dep.classid = dep.refclassid
WHERE NOT a.attisdropped AND c.relkind NOT IN ('i', 'I', 'c') AND c.oid = 16384 ORDER BY a.attnum
--! DBeaver, keys: 1
SELECT c.oid, c.*, t.relname AS tabrelname, rt.relnamespace AS refnamespace, d.description,
  CASE WHEN c.contype = 'c' THEN 'x' || substring(pg_get_constraintdef(c.oid), 7) ELSE NULL END AS consrc_copy
FROM pg_catalog.pg_constraint c
INNER JOIN pg_catalog.pg_class t ON t.oid = c.conrelid
LEFT OUTER JOIN pg_catalog.pg_class rt ON rt.oid = c.confrelid
LEFT OUTER JOIN pg_catalog.pg_description d ON d.objoid = c.oid AND d.objsubid = 0 AND d.classoid = 'pg_constraint'::regclass
ORDER BY c.oid
--! DBeaver, sizes: any
SELECT pg_catalog.pg_total_relation_size(c.oid), pg_database_size('clinic') FROM pg_class c
--! DBeaver, extensions: 0
SELECT x.oid, x.*, n.nspname AS schema_name FROM pg_catalog.pg_extension x JOIN pg_catalog.pg_namespace n ON n.oid = x.extnamespace
--! DBeaver, what could be installed: 0
SELECT name, default_version, installed_version FROM pg_catalog.pg_available_extensions
--! DBeaver, roles: some
SELECT a.oid, a.*, d.description FROM pg_catalog.pg_roles a LEFT JOIN pg_catalog.pg_shdescription d ON d.objoid = a.oid ORDER BY a.rolname
--! DBeaver, sessions: 0
SELECT sa.* FROM pg_catalog.pg_stat_activity sa
--! JDBC, keywords: any
SELECT string_agg(word, ',') FROM pg_catalog.pg_get_keywords() WHERE word <> ALL ('{a,abs,absolute,action,add}'::text[])
--! JDBC, a type by its name: 1
SELECT pg_type.oid, typname FROM pg_type LEFT JOIN (SELECT ns.oid AS nspoid, ns.nspname, r.r FROM pg_namespace AS ns
  JOIN (SELECT s.r, (current_schemas(false))[s.r] AS nspname FROM generate_series(1, array_upper(current_schemas(false), 1)) AS s(r)) AS r USING (nspname)) AS sp
  ON sp.nspoid = typnamespace WHERE typname = 'int4' ORDER BY sp.r, pg_type.oid DESC LIMIT 1
--! JDBC, an array's element: 1
SELECT e.typdelim FROM pg_catalog.pg_type t, pg_catalog.pg_type e WHERE t.oid = 1007 AND t.typelem = e.oid
--! JDBC, whether a type is an array: some
SELECT typinput = 'array_in'::regproc AS is_array, typtype, typname FROM pg_catalog.pg_type ORDER BY oid
--! Metabase, privileges: 2
WITH table_privileges AS (
  SELECT NULL AS role, t.schemaname AS schema, t.objectname AS table,
    pg_catalog.has_table_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || t.objectname || '"', 'UPDATE') AS update,
    pg_catalog.has_any_column_privilege(current_user, '"' || t.schemaname || '"' || '.' || '"' || t.objectname || '"', 'SELECT') AS select
  FROM (SELECT schemaname, tablename AS objectname FROM pg_catalog.pg_tables
    UNION SELECT schemaname, viewname AS objectname FROM pg_catalog.pg_views
    UNION SELECT schemaname, matviewname AS objectname FROM pg_catalog.pg_matviews) t
  WHERE t.schemaname !~ '^pg_' AND t.schemaname <> 'information_schema' AND pg_catalog.has_schema_privilege(current_user, t.schemaname, 'USAGE'))
SELECT t.* FROM table_privileges t
--! Metabase, tables: 2
SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'TABLE' WHEN 'v' THEN 'VIEW' END AS type,
  d.description AS description, c.reltuples AS estimated_row_count
FROM pg_catalog.pg_class AS c INNER JOIN pg_catalog.pg_namespace AS n ON c.relnamespace = n.oid
LEFT JOIN pg_catalog.pg_description AS d ON (c.oid = d.objoid) AND (d.objsubid = 0) AND (d.classoid = 'pg_class'::regclass)
WHERE (c.relnamespace = n.oid) AND (n.nspname !~ '^pg_') AND (n.nspname <> 'information_schema') AND c.relkind IN ('r', 'p', 'v', 'f', 'm')
ORDER BY type, schema, name
--! Metabase, fields: 9
SELECT c.column_name AS name, CASE WHEN c.udt_schema IN ('public', 'pg_catalog') THEN format('%s', c.udt_name) ELSE format('"%s"."%s"', c.udt_schema, c.udt_name) END AS "database-type",
  c.ordinal_position - 1 AS "database-position", c.table_schema AS "table-schema", c.table_name AS "table-name", pk.column_name IS NOT NULL AS "pk?",
  col_description(CAST(CAST(format('%I.%I', CAST(c.table_schema AS TEXT), CAST(c.table_name AS TEXT)) AS REGCLASS) AS OID), c.ordinal_position) AS "field-comment",
  (column_default IS NULL OR lower(column_default) = 'null') AND is_nullable = 'NO' AS "database-required", column_default IS NOT NULL AND column_default LIKE '%nextval(%' AS "auto"
FROM information_schema.columns AS c
LEFT JOIN (SELECT tc.table_schema, tc.table_name, kc.column_name FROM information_schema.table_constraints AS tc
  INNER JOIN information_schema.key_column_usage AS kc ON (tc.constraint_name = kc.constraint_name) AND (tc.table_schema = kc.table_schema) AND (tc.table_name = kc.table_name)
  WHERE tc.constraint_type = 'PRIMARY KEY') AS pk ON (c.table_schema = pk.table_schema) AND (c.table_name = pk.table_name) AND (c.column_name = pk.column_name)
WHERE c.table_schema !~ '^information_schema|catalog_history|pg_' AND c.table_name IN ('patients', 'diseases')
ORDER BY "table-schema", "table-name", "database-position"
--! Metabase, foreign keys: 0
SELECT fk_ns.nspname AS "fk-table-schema", fk_table.relname AS "fk-table-name", fk_column.attname AS "fk-column-name", pk_ns.nspname AS "pk-table-schema"
FROM pg_constraint AS c INNER JOIN pg_class AS fk_table ON c.conrelid = fk_table.oid INNER JOIN pg_namespace AS fk_ns ON c.connamespace = fk_ns.oid
INNER JOIN pg_attribute AS fk_column ON c.conrelid = fk_column.attrelid INNER JOIN pg_class AS pk_table ON c.confrelid = pk_table.oid
INNER JOIN pg_namespace AS pk_ns ON pk_table.relnamespace = pk_ns.oid INNER JOIN pg_attribute AS pk_column ON c.confrelid = pk_column.attrelid
WHERE fk_ns.nspname !~ '^information_schema|catalog_history|pg_' AND c.contype = 'f'::char AND fk_column.attnum = ANY(c.conkey) AND pk_column.attnum = ANY(c.confkey)
ORDER BY fk_ns.nspname, fk_table.relname
--! Metabase, enums: 0
SELECT nspname, typname FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace WHERE t.oid IN (SELECT DISTINCT e.enumtypid FROM pg_enum e)
--! Metabase, its time zone: 1
SELECT current_setting('TIMEZONE')
--! Superset, columns: some
SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), (SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d
  WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum AND a.atthasdef) AS DEFAULT, a.attnotnull, a.attrelid AS table_oid, pgd.description AS comment, a.attgenerated AS generated
FROM pg_catalog.pg_attribute a LEFT JOIN pg_catalog.pg_description pgd ON (pgd.objoid = a.attrelid AND pgd.objsubid = a.attnum)
WHERE a.attrelid = 16384 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum
--! Superset, the primary key: 1
SELECT a.attname FROM pg_attribute a JOIN (SELECT unnest(ix.indkey) attnum, generate_subscripts(ix.indkey, 1) ord FROM pg_index ix
  WHERE ix.indrelid = 16394 AND ix.indisprimary) k ON a.attnum = k.attnum WHERE a.attrelid = 16394 ORDER BY k.ord
--! Superset, indexes: any
SELECT i.relname AS relname, ix.indisunique, ix.indexprs, a.attname, a.attnum, c.conrelid, ix.indkey::varchar, ix.indoption::varchar, i.reloptions, am.amname,
  pg_get_expr(ix.indpred, ix.indrelid), ix.indnkeyatts AS indnkeyatts
FROM pg_class t JOIN pg_index ix ON t.oid = ix.indrelid JOIN pg_class i ON i.oid = ix.indexrelid
LEFT OUTER JOIN pg_attribute a ON t.oid = a.attrelid AND a.attnum = ANY(ix.indkey)
LEFT OUTER JOIN pg_constraint c ON (ix.indrelid = c.conrelid AND ix.indexrelid = c.conindid AND c.contype IN ('p', 'u', 'x'))
LEFT OUTER JOIN pg_am am ON i.relam = am.oid
WHERE t.relkind IN ('r', 'v', 'f', 'm', 'p') AND t.oid = 16394 AND ix.indisprimary = 'f' ORDER BY t.relname, i.relname
--! Superset, domains: 0
SELECT t.typname AS "name", pg_catalog.format_type(t.typbasetype, t.typtypmod) AS "attype", NOT t.typnotnull AS "nullable", t.typdefault AS "default",
  pg_catalog.pg_type_is_visible(t.oid) AS "visible", n.nspname AS "schema" FROM pg_catalog.pg_type t
LEFT JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace WHERE t.typtype = 'd'
--! Superset, foreign keys: 0
SELECT r.conname, pg_catalog.pg_get_constraintdef(r.oid, true) AS condef, n.nspname AS conschema
FROM pg_catalog.pg_constraint r, pg_namespace n, pg_class c WHERE r.conrelid = 16384 AND r.contype = 'f' AND c.oid = confrelid AND n.oid = c.relnamespace ORDER BY 1
--! Superset, schemas: some
SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname
--! Superset, whether it lives: 1
SELECT 1
--! Grafana, the version: 1
SELECT current_setting('server_version_num')::int/100 AS version
--! Grafana, tables of the search path: 2
SELECT CASE WHEN quote_ident(table_schema) IN (SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END
    FROM generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) AS i,
      string_to_array(current_setting('search_path'), ',') s)
  THEN quote_ident(table_name) ELSE quote_ident(table_schema) || '.' || quote_ident(table_name) END AS "table"
FROM information_schema.tables WHERE quote_ident(table_schema) NOT IN ('information_schema', 'pg_catalog', '_timescaledb_cache', '_timescaledb_catalog')
ORDER BY 1
--! Grafana, columns: some
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns
WHERE CASE WHEN array_length(parse_ident('patients'), 1) = 2 THEN false ELSE quote_ident(table_name) = 'patients' END
--! Grafana, whether there is TimescaleDB: any
SELECT 1 FROM pg_extension WHERE extname = 'timescaledb'
--! Power BI, types: some
SELECT ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid
FROM (SELECT typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind, elemtyp.oid AS elemtypoid, elemtyp.typname AS elemtypname, elemcls.relkind AS elemrelkind,
    CASE WHEN elemproc.proname = 'array_recv' THEN 'a' ELSE elemtyp.typtype END AS elemtyptype, typ.typcategory
  FROM (SELECT typ.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem AS elemoid, CASE WHEN proc.proname = 'array_recv' THEN 'a' ELSE typ.typtype END AS typtype,
      CASE WHEN proc.proname = 'array_recv' THEN typ.typelem WHEN typ.typtype = 'r' THEN rngsubtype WHEN typ.typtype = 'd' THEN typ.typbasetype END AS elemtypoid, typ.typcategory
    FROM pg_type AS typ LEFT JOIN pg_class AS cls ON (cls.oid = typ.typrelid) LEFT JOIN pg_proc AS proc ON proc.oid = typ.typreceive LEFT JOIN pg_range ON (pg_range.rngtypid = typ.oid)) AS typ
  LEFT JOIN pg_type AS elemtyp ON elemtyp.oid = elemtypoid LEFT JOIN pg_class AS elemcls ON (elemcls.oid = elemtyp.typrelid) LEFT JOIN pg_proc AS elemproc ON elemproc.oid = elemtyp.typreceive) AS t
JOIN pg_namespace AS ns ON (ns.oid = typnamespace)
WHERE typtype IN ('b', 'r', 'm', 'e', 'd') OR (typtype = 'c' AND relkind = 'c') OR (typtype = 'p' AND typname IN ('record', 'void', 'unknown')) OR (typtype = 'a' AND elemtyptype IN ('b', 'r', 'm', 'e', 'd'))
ORDER BY CASE WHEN typtype IN ('b', 'e', 'p') THEN 0 WHEN typtype = 'r' THEN 1 WHEN typtype = 'a' THEN 5 END
--! Power BI, older types: some
SELECT ns.nspname, a.typname, a.oid, a.typrelid, a.typbasetype, CASE WHEN pg_proc.proname = 'array_recv' THEN 'a' ELSE a.typtype END AS type,
  CASE WHEN pg_proc.proname = 'array_recv' THEN a.typelem WHEN a.typtype = 'r' THEN rngsubtype ELSE 0 END AS elemoid
FROM pg_type AS a JOIN pg_namespace AS ns ON (ns.oid = a.typnamespace) JOIN pg_proc ON pg_proc.oid = a.typreceive
LEFT OUTER JOIN pg_class AS cls ON (cls.oid = a.typrelid) LEFT OUTER JOIN pg_type AS b ON (b.oid = a.typelem) LEFT OUTER JOIN pg_range ON (pg_range.rngtypid = a.oid)
WHERE a.typtype IN ('b', 'r', 'e', 'd') OR (a.typtype = 'c' AND cls.relkind = 'c') OR (pg_proc.proname = 'array_recv' AND b.typtype IN ('b', 'r'))
--! Power BI, composite types: 0
SELECT typ.oid, att.attname, att.atttypid FROM pg_type AS typ JOIN pg_namespace AS ns ON (ns.oid = typ.typnamespace) JOIN pg_class AS cls ON (cls.oid = typ.typrelid)
JOIN pg_attribute AS att ON (att.attrelid = typ.typrelid) WHERE (typ.typtype = 'c' AND cls.relkind = 'c') AND attnum > 0 AND NOT attisdropped ORDER BY typ.oid, att.attnum
--! Power BI, enums: 0
SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type ON pg_type.oid = enumtypid ORDER BY oid, enumsortorder
--! Power BI, tables: 2
select TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE from INFORMATION_SCHEMA.tables where TABLE_SCHEMA not in ('information_schema', 'pg_catalog') order by TABLE_SCHEMA, TABLE_NAME
--! Power BI, columns: some
select COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, case when (data_type like '%unsigned%') then DATA_TYPE || ' unsigned' else DATA_TYPE end as DATA_TYPE
from INFORMATION_SCHEMA.columns where TABLE_SCHEMA = 'public' and TABLE_NAME = 'patients' order by TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION
--! Power BI, keys: 1
select i.CONSTRAINT_SCHEMA || '_' || i.CONSTRAINT_NAME as INDEX_NAME, ii.COLUMN_NAME, ii.ORDINAL_POSITION, case when i.CONSTRAINT_TYPE = 'PRIMARY KEY' then 'Y' else 'N' end as PRIMARY_KEY
from INFORMATION_SCHEMA.table_constraints i inner join INFORMATION_SCHEMA.key_column_usage ii on i.CONSTRAINT_SCHEMA = ii.CONSTRAINT_SCHEMA and i.CONSTRAINT_NAME = ii.CONSTRAINT_NAME
where i.TABLE_SCHEMA = 'public' and i.TABLE_NAME = 'diseases' and i.CONSTRAINT_TYPE in ('PRIMARY KEY', 'UNIQUE') order by 1, ii.ORDINAL_POSITION
--! Power BI, relations: 0
select pkcol.COLUMN_NAME as PK_COLUMN_NAME, fkcol.TABLE_SCHEMA AS FK_TABLE_SCHEMA, fkcol.ORDINAL_POSITION as ORDINAL, fkcon.CONSTRAINT_SCHEMA || '_' || fkcol.TABLE_NAME as FK_NAME
from (select distinct constraint_catalog, constraint_schema, unique_constraint_schema, constraint_name, unique_constraint_name from INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS) fkcon
inner join INFORMATION_SCHEMA.KEY_COLUMN_USAGE fkcol on fkcon.CONSTRAINT_SCHEMA = fkcol.CONSTRAINT_SCHEMA and fkcon.CONSTRAINT_NAME = fkcol.CONSTRAINT_NAME
inner join INFORMATION_SCHEMA.KEY_COLUMN_USAGE pkcol on fkcon.UNIQUE_CONSTRAINT_NAME = pkcol.CONSTRAINT_NAME
where pkcol.TABLE_SCHEMA = 'public' and pkcol.TABLE_NAME = 'diseases' order by FK_NAME, fkcol.ORDINAL_POSITION
--! Power BI, character sets: any
select character_set_name from INFORMATION_SCHEMA.character_sets
--! Tableau, tables: 2
select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in ('r', 'v', 'm', 'f') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1')
and n.oid = relnamespace order by nspname, relname
--! Tableau, columns: some
select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull, c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid),
case t.typtype when 'd' then t.typbasetype else 0 end, t.typtypmod, c.relhasoids
from (((pg_catalog.pg_class c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.oid = 16384) inner join pg_catalog.pg_attribute a
on (not a.attisdropped) and a.attnum > 0 and a.attrelid = c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid)
left outer join pg_attrdef d on a.atthasdef and d.adrelid = a.attrelid and d.adnum = a.attnum order by n.nspname, c.relname, attnum
--! Tableau, the primary key: 1
select ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname from pg_catalog.pg_attribute ta, pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i,
pg_catalog.pg_namespace n, pg_catalog.pg_class ic where tc.relname = 'diseases' AND n.nspname = 'public' AND tc.oid = i.indrelid AND n.oid = tc.relnamespace AND i.indisprimary = 't'
AND ia.attrelid = i.indexrelid AND ta.attrelid = i.indrelid AND ta.attnum = i.indkey[ia.attnum-1] AND (NOT ta.attisdropped) AND (NOT ia.attisdropped) AND ic.oid = i.indexrelid order by ia.attnum
--! Tableau, foreign keys: 0
select 'clinic'::name as "PKTABLE_CAT", n2.nspname as "PKTABLE_SCHEM", c2.relname as "PKTABLE_NAME", a2.attname as "PKCOLUMN_NAME", i::int2 as "KEY_SEQ",
case ref.confupdtype when 'c' then 0::int2 when 'n' then 2::int2 else 3::int2 end as "UPDATE_RULE", ref.conname as "FK_NAME", cn.conname as "PK_NAME"
from (((((((( (select cn.oid, conrelid, conkey, confrelid, confkey, generate_series(array_lower(conkey, 1), array_upper(conkey, 1)) as i, confupdtype, confdeltype, conname, condeferrable, condeferred
from pg_catalog.pg_constraint cn, pg_catalog.pg_class c, pg_catalog.pg_namespace n where contype = 'f' and conrelid = c.oid and relname = 'patients' and n.oid = c.relnamespace and n.nspname = 'public') ref
inner join pg_catalog.pg_class c1 on c1.oid = ref.conrelid) inner join pg_catalog.pg_namespace n1 on n1.oid = c1.relnamespace)
inner join pg_catalog.pg_attribute a1 on a1.attrelid = c1.oid and a1.attnum = conkey[i]) inner join pg_catalog.pg_class c2 on c2.oid = ref.confrelid)
inner join pg_catalog.pg_namespace n2 on n2.oid = c2.relnamespace) inner join pg_catalog.pg_attribute a2 on a2.attrelid = c2.oid and a2.attnum = confkey[i])
left outer join pg_catalog.pg_constraint cn on cn.conrelid = ref.confrelid and cn.contype = 'p')) order by ref.oid, ref.i
--! Tableau, what is generated: any
SELECT c.oid, a.attnum, a.attname, c.relname, n.nspname, a.attnotnull OR (t.typtype = 'd' AND t.typnotnull), a.attidentity != '' OR pg_catalog.pg_get_expr(d.adbin, d.adrelid) LIKE '%nextval(%'
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON (c.relnamespace = n.oid) JOIN pg_catalog.pg_attribute a ON (c.oid = a.attrelid) JOIN pg_catalog.pg_type t ON (a.atttypid = t.oid)
LEFT JOIN pg_catalog.pg_attrdef d ON (d.adrelid = a.attrelid AND d.adnum = a.attnum)
JOIN (SELECT 2615 AS oid, 2 AS attnum UNION ALL SELECT 1259, 2) vals ON (c.oid = vals.oid AND a.attnum = vals.attnum)
--! Tableau, temporary tables: refused
CREATE LOCAL TEMPORARY TABLE "#Tableau_1_Connect" ("COL" INTEGER) ON COMMIT PRESERVE ROWS
--! Excel, columns with their precision: some
SELECT na.nspname AS Schema, cl.relname AS Table, att.attname AS Name, att.attnum AS Position, CASE WHEN att.attnotnull = 'f' THEN 'true' ELSE 'false' END AS Nullable,
(information_schema._pg_numeric_precision(information_schema._pg_truetypid(att.*, ty.*), information_schema._pg_truetypmod(att.*, ty.*)))::information_schema.cardinal_number AS Precision,
CAST(pg_get_expr(def.adbin, def.adrelid) AS varchar) AS DefaultValue, (SELECT count(1) FROM pg_type t2 WHERE t2.typname = ty.typname) > 1 AS isdup
FROM pg_attribute att JOIN pg_type ty ON ty.oid = atttypid JOIN pg_class cl ON cl.oid = attrelid AND (cl.relkind = 'r' OR cl.relkind = 'v') JOIN pg_namespace na ON na.oid = cl.relnamespace
LEFT OUTER JOIN pg_attrdef def ON adrelid = attrelid AND adnum = attnum
LEFT OUTER JOIN (pg_depend JOIN pg_class cs ON objid = cs.oid AND cs.relkind = 'S' AND classid = 'pg_class'::regclass::oid) ON refobjid = attrelid AND refobjsubid = attnum
WHERE attnum > 0 AND attisdropped IS FALSE AND cl.relname LIKE E'patients' AND na.nspname LIKE E'public' ORDER BY attnum
--! pgcli, tables: 2
SELECT n.nspname AS schema, c.relname AS name, CASE c.relkind WHEN 'r' THEN 'table' WHEN 'v' THEN 'view' END AS type, pg_catalog.pg_get_userbyid(c.relowner) AS owner
FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind = ANY('{r,p,""}') AND n.nspname <> 'pg_catalog' AND n.nspname !~ '^pg_toast.*' AND pg_catalog.pg_table_is_visible(c.oid) ORDER BY 1, 2
--! pgcli, functions to complete: some
SELECT n.nspname schema_name, p.proname func_name, p.proargnames, COALESCE(proallargtypes::regtype[], proargtypes::regtype[])::text[], p.proargmodes,
prorettype::regtype::text return_type, p.prokind = 'a' is_aggregate, p.proretset is_set_returning, pg_get_expr(proargdefaults, 0) AS arg_defaults
FROM pg_catalog.pg_proc p INNER JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE p.prorettype::regtype != 'trigger'::regtype ORDER BY 1, 2
--! pgAdmin, settings: any
SELECT set_config('bytea_output', 'hex', false) FROM pg_show_all_settings() WHERE name = 'bytea_output'
