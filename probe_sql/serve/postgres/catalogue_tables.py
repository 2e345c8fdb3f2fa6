"""The tables and functions of PostgreSQL's catalogue that clients look at, by their columns.

Facts about PostgreSQL 15. A column is a VARCHAR unless a letter says otherwise:
`#` BIGINT, `?` BOOLEAN, `[` BIGINT[], `{` VARCHAR[].
"""

from __future__ import annotations

from probe_sql.serve.postgres.settings import SERVER_VERSION

# With rows of ours.
FILLED = {
    "pg_namespace": "oid# nspname nspowner# nspacl{",
    "pg_class": "oid# relname relnamespace# reltype# reloftype# relowner# relam# relfilenode# "
    "reltablespace# relpages# reltuples# relallvisible# reltoastrelid# relhasindex? relisshared? "
    "relpersistence relkind relnatts# relchecks# relhasrules? relhastriggers? relhassubclass? "
    "relrowsecurity? relforcerowsecurity? relispopulated? relreplident relispartition? "
    "relrewrite# relhasoids? relacl{ reloptions{ relpartbound",
    "pg_attribute": "attrelid# attname atttypid# attstattarget# attlen# attnum# attndims# "
    "attcacheoff# atttypmod# attbyval? attstorage attcompression attalign attnotnull? atthasdef? "
    "atthasmissing? attidentity attgenerated attisdropped? attislocal? attinhcount# "
    "attcollation# attacl{ attoptions{ attfdwoptions{ attmissingval",
    "pg_type": "oid# typname typnamespace# typowner# typlen# typbyval? typtype typcategory "
    "typispreferred? typisdefined? typdelim typrelid# typelem# typarray# typinput typoutput "
    "typreceive# typsend typnotnull? typbasetype# typtypmod# typndims# typcollation# typdefault "
    "typsubscript",
    "pg_proc": "oid# proname pronamespace# proowner# prolang# prokind prosecdef? proretset? "
    "provolatile pronargs# prorettype# proargtypes[ proallargtypes[ proargmodes{ proargnames{ "
    "proargdefaults prosrc proisagg?",
    "pg_description": "objoid# classoid# objsubid# description",
    "pg_constraint": "oid# conname connamespace# contype condeferrable? condeferred? "
    "convalidated? conrelid# contypid# conindid# conparentid# confrelid# confupdtype confdeltype "
    "confmatchtype conislocal? coninhcount# connoinherit? conkey[ confkey[ conpfeqop[ conppeqop[ "
    "conffeqop[ confdelsetcols[ conexclop[ conbin",
    "pg_index": "indexrelid# indrelid# indnatts# indnkeyatts# indisunique? indnullsnotdistinct? "
    "indisprimary? indisexclusion? indimmediate? indisclustered? indisvalid? indcheckxmin? "
    "indisready? indislive? indisreplident? indkey[ indcollation[ indclass[ indoption[ indexprs "
    "indpred",
    "pg_database": "oid# datname datdba# encoding# datlocprovider datistemplate? datallowconn? "
    "datconnlimit# dattablespace# datcollate datctype daticulocale datcollversion datacl{",
    "pg_roles": "oid# rolname rolsuper? rolinherit? rolcreaterole? rolcreatedb? rolcanlogin? "
    "rolreplication? rolconnlimit# rolpassword rolvaliduntil rolbypassrls? rolconfig{",
    "pg_am": "oid# amname amhandler amtype",
    "pg_tablespace": "oid# spcname spcowner# spcacl{ spcoptions{",
    "pg_settings": "name setting unit category short_desc vartype context boot_val reset_val",
    "pg_tables": "schemaname tablename tableowner tablespace hasindexes? hasrules? hastriggers? "
    "rowsecurity?",
    "pg_collation": "oid# collname collnamespace# collowner# collprovider collisdeterministic? "
    "collencoding# collcollate collctype colliculocale collversion",
}
# Without any: what does not exist here, or would tell how many rows there are.
EMPTY = {
    "pg_attrdef": "oid# adrelid# adnum# adbin",
    "pg_auth_members": "roleid# member# grantor# admin_option?",
    "pg_cast": "oid# castsource# casttarget# castfunc# castcontext castmethod",
    "pg_depend": "classid# objid# objsubid# refclassid# refobjid# refobjsubid# deptype",
    "pg_shdescription": "objoid# classoid# description",
    "pg_enum": "oid# enumtypid# enumsortorder# enumlabel",
    "pg_event_trigger": "oid# evtname evtevent evtowner# evtfoid# evtenabled evttags{",
    "pg_extension": "oid# extname extowner# extnamespace# extrelocatable? extversion",
    "pg_foreign_data_wrapper": "oid# fdwname fdwowner# fdwhandler# fdwvalidator# fdwoptions{",
    "pg_foreign_server": "oid# srvname srvowner# srvfdw# srvtype srvversion srvoptions{",
    "pg_foreign_table": "ftrelid# ftserver# ftoptions{",
    "pg_inherits": "inhrelid# inhparent# inhseqno# inhdetachpending?",
    "pg_language": "oid# lanname lanowner# lanispl? lanpltrusted?",
    "pg_locks": "locktype database# relation# pid# mode granted?",
    "pg_matviews": "schemaname matviewname matviewowner tablespace hasindexes? ispopulated? "
    "definition",
    "pg_opclass": "oid# opcmethod# opcname opcnamespace# opcowner# opcfamily# opcintype# "
    "opcdefault? opckeytype#",
    "pg_operator": "oid# oprname oprnamespace# oprowner# oprkind oprleft# oprright# oprresult#",
    "pg_partitioned_table": "partrelid# partstrat partnatts# partdefid# partattrs[",
    "pg_policy": "oid# polname polrelid# polcmd polpermissive? polroles[ polqual polwithcheck",
    "pg_publication": "oid# pubname pubowner# puballtables?",
    "pg_publication_namespace": "oid# pnpubid# pnnspid#",
    "pg_publication_rel": "oid# prpubid# prrelid# prqual prattrs[",
    "pg_range": "rngtypid# rngsubtype# rngmultitypid#",
    "pg_rewrite": "oid# rulename ev_class# ev_type ev_enabled is_instead?",
    "pg_sequence": "seqrelid# seqtypid# seqstart# seqincrement# seqmax# seqmin# seqcache# "
    "seqcycle?",
    "pg_sequences": "schemaname sequencename sequenceowner data_type",
    "pg_stat_activity": "datid# datname pid# usename application_name state query",
    "pg_stat_user_tables": "relid# schemaname relname seq_scan# n_live_tup# n_dead_tup#",
    "pg_statio_user_tables": "relid# schemaname relname heap_blks_read#",
    "pg_stats": "schemaname tablename attname null_frac# n_distinct#",
    "pg_statistic_ext": "oid# stxrelid# stxname stxnamespace# stxowner# stxkeys[ stxkind{ "
    "stxstattarget#",
    "pg_trigger": "oid# tgrelid# tgparentid# tgname tgfoid# tgtype# tgenabled tgisinternal? "
    "tgconstrrelid# tgconstrindid# tgconstraint# tgdeferrable? tginitdeferred? tgnargs#",
    "pg_ts_config": "oid# cfgname cfgnamespace#",
    "pg_user_mappings": "umid# srvid# srvname umuser# usename",
    "pg_views": "schemaname viewname viewowner definition",
    "pg_indexes": "schemaname tablename indexname tablespace indexdef",
    "pg_get_keywords": "word catcode catdesc",
    "pg_show_all_settings": "name setting",
    "pg_available_extensions": "name default_version installed_version comment",
    "pg_prepared_xacts": "transaction# gid prepared owner database",
}
# Of information_schema.
STANDARD = {
    "tables": "table_catalog table_schema table_name table_type self_referencing_column_name "
    "reference_generation user_defined_type_catalog user_defined_type_schema "
    "user_defined_type_name is_insertable_into is_typed commit_action",
    "columns": "table_catalog table_schema table_name column_name ordinal_position# "
    "column_default is_nullable data_type character_maximum_length# character_octet_length# "
    "numeric_precision# numeric_precision_radix# numeric_scale# datetime_precision# "
    "udt_catalog udt_schema udt_name is_identity is_generated is_updatable",
    "schemata": "catalog_name schema_name schema_owner",
    "table_constraints": "constraint_catalog constraint_schema constraint_name table_catalog "
    "table_schema table_name constraint_type is_deferrable initially_deferred",
    "key_column_usage": "constraint_catalog constraint_schema constraint_name table_catalog "
    "table_schema table_name column_name ordinal_position# position_in_unique_constraint#",
    "referential_constraints": "constraint_catalog constraint_schema constraint_name "
    "unique_constraint_catalog unique_constraint_schema unique_constraint_name match_option "
    "update_rule delete_rule",
    "constraint_column_usage": "table_catalog table_schema table_name column_name "
    "constraint_catalog constraint_schema constraint_name",
    "views": "table_catalog table_schema table_name view_definition check_option is_updatable",
    "character_sets": "character_set_catalog character_set_schema character_set_name "
    "character_repertoire form_of_use default_collate_name",
    "routines": "specific_catalog specific_schema specific_name routine_catalog routine_schema "
    "routine_name routine_type data_type",
    "sequences": "sequence_catalog sequence_schema sequence_name data_type",
    "triggers": "trigger_catalog trigger_schema trigger_name event_object_table",
    "table_privileges": "grantor grantee table_catalog table_schema table_name privilege_type "
    "is_grantable with_hierarchy",
}
PROBE = {
    "columns": "table_name column_name data_type kind use",
}
# What the functions below look up.
OURS = {
    "probe_types": "oid# shown",
    "probe_definitions": "oid# text",
    "probe_classes": "oid# name",
}

# Functions that DuckDB has not, or answers otherwise: name, parameters, expression.
_COMMENT = (
    "(SELECT max(d.description) FROM pgc.pg_description d WHERE d.objoid = a AND d.objsubid = {})"
)
_NULL = "NULL::VARCHAR"
_DEFINED = "(SELECT max(k.text) FROM main.probe_definitions k WHERE k.oid = a)"
# OIDs of tables of the catalogue, which comments and dependencies refer to.
CLASSES = {
    "pg_class": 1259, "pg_type": 1247, "pg_proc": 1255, "pg_attribute": 1249, "pg_namespace": 2615,
    "pg_constraint": 2606, "pg_database": 1262, "pg_trigger": 2620, "pg_rewrite": 2618,
}  # fmt: skip
SETTINGS = {
    "server_version": SERVER_VERSION, "server_version_num": "150000", "search_path": "public",
    "standard_conforming_strings": "on", "server_encoding": "UTF8", "timezone": "UTC",
    "max_index_keys": "32",
}  # fmt: skip
_SETTINGS_WHEN = " ".join(f"WHEN '{name}' THEN '{value}'" for name, value in SETTINGS.items())
MACROS = (
    ("format_type", "a, b", "(SELECT max(n.shown) FROM main.probe_types n WHERE n.oid = a)"),
    ("pg_get_userbyid", "a", "'owner'"),
    ("pg_get_constraintdef", "a, b := false", _DEFINED),
    ("pg_get_indexdef", "a, b := 0, c := false", _DEFINED),
    ("probe_regclass", "a",
     "coalesce(try_cast(a AS BIGINT), (SELECT max(c.oid) FROM main.probe_classes c "
     "WHERE c.name = regexp_replace(a::VARCHAR, '^.*[.]', '')))"),
    ("obj_description", "a, b := 'pg_class'", _COMMENT.format("0")),
    ("col_description", "a, b", _COMMENT.format("b")),
    ("current_setting", "a, b := false", f"CASE lower(a) {_SETTINGS_WHEN} END"),
    ("to_regtype", "a", "(SELECT max(t.oid) FROM pgc.pg_type t WHERE t.typname = a)"),
    ("to_regclass", "a", "(SELECT max(c.oid) FROM pgc.pg_class c WHERE c.relname = a)"),
    ("_pg_expandarray", "a", "unnest([{'x': v, 'n': i} for v, i in a])"),
    ("array_upper", "a, b", "len(a)"),
    ("array_lower", "a, b", "1"),
    ("pg_encoding_to_char", "a", "'UTF8'"),
    ("quote_ident", "a", "CASE WHEN regexp_full_match(a, '[a-z_][a-z0-9_$]*') THEN a "
     "ELSE '\"' || replace(a, '\"', '\"\"') || '\"' END"),
    ("probe_format", "a, b := '', c := ''",
     "regexp_replace(regexp_replace(a, '%[IsL]', b::VARCHAR), '%[IsL]', c::VARCHAR)"),
    ("parse_ident", "a, b := true", "string_split(replace(a, '\"', ''), '.')"),
    ("generate_subscripts", "a, b", "generate_series(1, len(a))"),
    ("current_schemas", "a", "['public']"),
    ("current_schema", "", "'public'"),
    ("set_config", "a, b, c", "b"),
    ("pg_my_temp_schema", "", "0"),
    ("pg_backend_pid", "", "0"),
    ("txid_current", "", "1"),
    ("inet_server_port", "", "NULL::INTEGER"),
    ("pg_postmaster_start_time", "", "NULL::TIMESTAMP"),
    ("pg_conf_load_time", "", "NULL::TIMESTAMP"),
    *((name, "a", "true") for name in (
        "pg_table_is_visible", "pg_type_is_visible", "pg_function_is_visible",
        "pg_collation_is_visible", "pg_operator_is_visible", "pg_opclass_is_visible",
        "pg_ts_config_is_visible", "pg_conversion_is_visible",
    )),
    # Reading is what is allowed, of whatever is named: the last argument says what is wanted.
    *((name, "a, b, c := ''",
       "regexp_matches(lower(coalesce(nullif(c, ''), b::VARCHAR)), "
       "'^(select|usage|connect|member|set)')") for name in (
        "has_table_privilege", "has_schema_privilege", "has_database_privilege",
        "has_any_column_privilege", "has_column_privilege", "pg_has_role",
    )),
    *((name, "a", "false") for name in ("pg_relation_is_publishable", "pg_is_other_temp_schema")),
    ("pg_is_in_recovery", "", "false"),
    # A size would tell how many rows there are.
    *((name, "a, b := ''", "NULL::BIGINT") for name in (
        "pg_total_relation_size", "pg_relation_size", "pg_table_size", "pg_indexes_size",
        "pg_database_size",
    )),
    *((name, "a, b := false, c := false", _NULL) for name in (
        "pg_get_expr", "pg_get_viewdef", "pg_get_partkeydef",
        "pg_get_statisticsobjdef_columns", "pg_get_ruledef", "pg_get_triggerdef",
        "pg_get_serial_sequence", "shobj_description", "pg_size_pretty", "pg_get_function_result",
        "pg_get_function_arguments", "pg_get_function_identity_arguments", "pg_tablespace_location",
    )),
    *((name, "", _NULL) for name in ("pg_advisory_unlock_all", "inet_server_addr")),
)  # fmt: skip
# Functions of DuckDB that may be called beside those: none of them reads anything but its
# arguments.
OWN_MACROS = ("version", "current_database")  # with the names of the server and the database
RENAMED = {"json_build_object": "json_object", "json_agg": "json_group_array",
           "format": "probe_format"}  # fmt: skip
# Functions that are tables here, and such as take whole rows, whose answer is not known.
TABLES = ("pg_get_keywords", "pg_show_all_settings", "pg_available_extensions")
UNKNOWN = (
    "_pg_truetypid", "_pg_truetypmod", "_pg_numeric_precision", "_pg_numeric_scale",
    "_pg_numeric_precision_radix", "_pg_datetime_precision", "_pg_char_max_length",
)  # fmt: skip
_PLAIN = """
abs any array array_agg array_append array_length array_position array_remove array_to_string avg
bool_and bool_or cardinality cast ceil char_length character_length chr coalesce concat concat_ws
count date_trunc exists extract first floor generate_series generate_subscripts greatest initcap
last least left length list list_contains lower ltrim max md5 min mod now nullif
octet_length overlay position regexp_match regexp_matches regexp_replace replace reverse
right round row row_number rtrim some split_part starts_with string_agg string_to_array strpos
substr substring sum to_char translate trim trunc unnest upper
"""
_WORDS = """
all and as between by case char current_date current_timestamp decimal distinct else end filter from
having in int4 int8 interval is join lateral limit not numeric offset on or over partition select
similar text then timestamp union using values varchar when where with within
"""  # stand before a parenthesis without being a function
FUNCTIONS = frozenset((_PLAIN + _WORDS).split())
# What DuckDB makes of words and signs that are no function in a text.
_MADE = """
add array_extract array_slice contains count_star date_part divide first ilike_escape in_search_path
json_group_array json_object like_escape list_extract list_resize list_slice list_value
list_zip list_transform list_apply multiply not_ilike_escape not_like_escape regexp_full_match row
struct_extract struct_pack subtract
"""
_SIGNS = "! !~~ !~~* % & && * ** + - ->> / // <-> << <=> <@ >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~"
# The functions that a question may call once DuckDB has read it: the list behind the translation.
ALLOWED = (
    FUNCTIONS
    | {name for name, _, _ in MACROS}
    | {*OWN_MACROS, *RENAMED.values(), *_MADE.split(), *_SIGNS.split()}
)
