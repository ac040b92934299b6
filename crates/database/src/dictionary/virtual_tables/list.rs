//! The virtual tables' columns.

const IS: &str = "information_schema";
const PS: &str = "performance_schema";
const MYSQL: &str = "mysql";
const SYS: &str = "sys";

/// Schema, name, columns (see [`define`](super::define)).
pub(super) const LIST: &[(&str, &str, &str)] = &[
    (
        IS,
        "SCHEMATA",
        "CATALOG_NAME 64n,SCHEMA_NAME 64n,DEFAULT_CHARACTER_SET_NAME 64,DEFAULT_COLLATION_NAME 64,SQL_PATH 1?,\
         DEFAULT_ENCRYPTION 3n",
    ),
    (
        IS,
        "TABLES",
        "TABLE_CATALOG 64n,TABLE_SCHEMA 64n,TABLE_NAME 64n,TABLE_TYPE 11n,ENGINE 64?,VERSION int?,ROW_FORMAT 10n?,\
         TABLE_ROWS uint?,AVG_ROW_LENGTH uint?,DATA_LENGTH uint?,MAX_DATA_LENGTH uint?,INDEX_LENGTH uint?,\
         DATA_FREE uint?,AUTO_INCREMENT uint?,CREATE_TIME time?,UPDATE_TIME time?,CHECK_TIME time?,TABLE_COLLATION 64?,\
         CHECKSUM int?,CREATE_OPTIONS 256?,TABLE_COMMENT 2048?",
    ),
    (
        IS,
        "COLUMNS",
        "TABLE_CATALOG 64n,TABLE_SCHEMA 64n,TABLE_NAME 64n,COLUMN_NAME 64l?,ORDINAL_POSITION uint,\
         COLUMN_DEFAULT textn?,IS_NULLABLE 3,DATA_TYPE textn?,CHARACTER_MAXIMUM_LENGTH int?,\
         CHARACTER_OCTET_LENGTH int?,NUMERIC_PRECISION uint?,NUMERIC_SCALE uint?,DATETIME_PRECISION uint?,\
         CHARACTER_SET_NAME 64?,COLLATION_NAME 64?,COLUMN_TYPE textn,COLUMN_KEY 3n,EXTRA 256?,PRIVILEGES 154?,\
         COLUMN_COMMENT textn,GENERATION_EXPRESSION textn,SRS_ID uint?",
    ),
    (
        IS,
        "STATISTICS",
        "TABLE_CATALOG 64n,TABLE_SCHEMA 64n,TABLE_NAME 64n,NON_UNIQUE int,INDEX_SCHEMA 64n,INDEX_NAME 64l?,\
         SEQ_IN_INDEX uint,COLUMN_NAME 64l?,COLLATION 1?,CARDINALITY int?,SUB_PART int?,PACKED 1?,NULLABLE 3,\
         INDEX_TYPE 11n,COMMENT 8,INDEX_COMMENT 2048n,IS_VISIBLE 3,EXPRESSION textn?",
    ),
    (
        IS,
        "KEY_COLUMN_USAGE",
        "CONSTRAINT_CATALOG 64n,CONSTRAINT_SCHEMA 64n,CONSTRAINT_NAME 64l?,TABLE_CATALOG 64n,TABLE_SCHEMA 64n,\
         TABLE_NAME 64n,COLUMN_NAME 64l?,ORDINAL_POSITION uint,POSITION_IN_UNIQUE_CONSTRAINT uint?,\
         REFERENCED_TABLE_SCHEMA 64n?,REFERENCED_TABLE_NAME 64n?,REFERENCED_COLUMN_NAME 64l?",
    ),
    (
        IS,
        "TABLE_CONSTRAINTS",
        "CONSTRAINT_CATALOG 64n,CONSTRAINT_SCHEMA 64n,CONSTRAINT_NAME 64l?,TABLE_SCHEMA 64n,TABLE_NAME 64n,\
         CONSTRAINT_TYPE 11n,ENFORCED 3n",
    ),
    (
        IS,
        "CHECK_CONSTRAINTS",
        "CONSTRAINT_CATALOG 64n,CONSTRAINT_SCHEMA 64n,CONSTRAINT_NAME 64l,CHECK_CLAUSE textn",
    ),
    (
        IS,
        "REFERENTIAL_CONSTRAINTS",
        "CONSTRAINT_CATALOG 64n,CONSTRAINT_SCHEMA 64n,CONSTRAINT_NAME 64l?,UNIQUE_CONSTRAINT_CATALOG 64n,\
         UNIQUE_CONSTRAINT_SCHEMA 64n,UNIQUE_CONSTRAINT_NAME 64l?,MATCH_OPTION 7n,UPDATE_RULE 11n,DELETE_RULE 11n,\
         TABLE_NAME 64n,REFERENCED_TABLE_NAME 64n",
    ),
    (
        IS,
        "ENGINES",
        "ENGINE 64,SUPPORT 8,COMMENT 80,TRANSACTIONS 3?,XA 3?,SAVEPOINTS 3?",
    ),
    (
        IS,
        "CHARACTER_SETS",
        "CHARACTER_SET_NAME 64,DEFAULT_COLLATE_NAME 64,DESCRIPTION 2048,MAXLEN uint",
    ),
    (
        IS,
        "COLLATIONS",
        "COLLATION_NAME 64,CHARACTER_SET_NAME 64,ID uint,IS_DEFAULT 3,IS_COMPILED 3,SORTLEN uint,PAD_ATTRIBUTE 9n",
    ),
    (
        IS,
        "COLLATION_CHARACTER_SET_APPLICABILITY",
        "COLLATION_NAME 64,CHARACTER_SET_NAME 64",
    ),
    (
        IS,
        "PROCESSLIST",
        "ID uint,USER 32,HOST 261,DB 64?,COMMAND 16,TIME int,STATE 64?,INFO text?",
    ),
    (
        IS,
        "INNODB_TRX",
        "trx_id uint,trx_state 13,trx_started datetime,trx_requested_lock_id 126?,trx_wait_started datetime?,trx_weight uint,\
         trx_mysql_thread_id uint,trx_query 1024?,trx_operation_state 64?,trx_tables_in_use uint,trx_tables_locked uint,\
         trx_lock_structs uint,trx_lock_memory_bytes uint,trx_rows_locked uint,trx_rows_modified uint,\
         trx_concurrency_tickets uint,trx_isolation_level 16,trx_unique_checks int,trx_foreign_key_checks int,\
         trx_last_foreign_key_error 256?,trx_adaptive_hash_latched int,trx_adaptive_hash_timeout uint,\
         trx_is_read_only int,trx_autocommit_non_locking int,trx_schedule_weight uint?",
    ),
    (
        IS,
        "INNODB_FOREIGN",
        "ID 129n?,FOR_NAME 129n?,REF_NAME 129n?,N_COLS int,TYPE uint",
    ),
    (
        IS,
        "INNODB_FOREIGN_COLS",
        "ID 129n?,FOR_COL_NAME 64l,REF_COL_NAME 64l,POS uint",
    ),
    (
        IS,
        "INNODB_TEMP_TABLE_INFO",
        "TABLE_ID uint,NAME 64?,N_COLS uint,SPACE uint",
    ),
    (
        IS,
        "INNODB_METRICS",
        "NAME 193,SUBSYSTEM 193,COUNT int,MAX_COUNT int?,MIN_COUNT int?,AVG_COUNT double?,COUNT_RESET int,MAX_COUNT_RESET \
         int?,MIN_COUNT_RESET int?,AVG_COUNT_RESET double?,TIME_ENABLED datetime?,TIME_DISABLED datetime?,TIME_ELAPSED \
         int?,TIME_RESET datetime?,STATUS 193,TYPE 193,COMMENT 193",
    ),
    (
        IS,
        "VIEWS",
        "TABLE_CATALOG 64n,TABLE_SCHEMA 64n,TABLE_NAME 64n,VIEW_DEFINITION textn?,CHECK_OPTION 8n?,IS_UPDATABLE 3n?,\
         DEFINER 288n?,SECURITY_TYPE 7n?,CHARACTER_SET_CLIENT 64,COLLATION_CONNECTION 64",
    ),
    (
        IS,
        "VIEW_TABLE_USAGE",
        "VIEW_CATALOG 64n,VIEW_SCHEMA 64n,VIEW_NAME 64n,TABLE_CATALOG 64n,TABLE_SCHEMA 64n,TABLE_NAME 64n",
    ),
    (
        IS,
        "ROUTINES",
        "SPECIFIC_NAME 64,ROUTINE_CATALOG 64n,ROUTINE_SCHEMA 64n,ROUTINE_NAME 64,ROUTINE_TYPE 9n,DATA_TYPE textn?,\
         CHARACTER_MAXIMUM_LENGTH int?,CHARACTER_OCTET_LENGTH int?,NUMERIC_PRECISION uint?,NUMERIC_SCALE int?,\
         DATETIME_PRECISION uint?,CHARACTER_SET_NAME 64?,COLLATION_NAME 64?,DTD_IDENTIFIER textn?,ROUTINE_BODY 8,\
         ROUTINE_DEFINITION textn?,EXTERNAL_NAME 64?,EXTERNAL_LANGUAGE 64n,PARAMETER_STYLE 3,IS_DETERMINISTIC 3,\
         SQL_DATA_ACCESS 17n,SQL_PATH 64?,SECURITY_TYPE 7n,CREATED time,LAST_ALTERED time,SQL_MODE 520n,\
         ROUTINE_COMMENT textn,DEFINER 288n,CHARACTER_SET_CLIENT 64,COLLATION_CONNECTION 64,DATABASE_COLLATION 64",
    ),
    (
        IS,
        "PARAMETERS",
        "SPECIFIC_CATALOG 64n,SPECIFIC_SCHEMA 64n,SPECIFIC_NAME 64,ORDINAL_POSITION uint,PARAMETER_MODE 5n?,\
         PARAMETER_NAME 64?,DATA_TYPE textn?,CHARACTER_MAXIMUM_LENGTH int?,CHARACTER_OCTET_LENGTH int?,\
         NUMERIC_PRECISION uint?,NUMERIC_SCALE int?,DATETIME_PRECISION uint?,CHARACTER_SET_NAME 64?,COLLATION_NAME 64?,\
         DTD_IDENTIFIER textn,ROUTINE_TYPE 9n",
    ),
    (
        IS,
        "TRIGGERS",
        "TRIGGER_CATALOG 64n,TRIGGER_SCHEMA 64n,TRIGGER_NAME 64,EVENT_MANIPULATION 6n,EVENT_OBJECT_CATALOG 64n,\
         EVENT_OBJECT_SCHEMA 64n,EVENT_OBJECT_TABLE 64n,ACTION_ORDER uint,ACTION_CONDITION text?,\
         ACTION_STATEMENT textn,ACTION_ORIENTATION 3,ACTION_TIMING 6n,ACTION_REFERENCE_OLD_TABLE 64?,\
         ACTION_REFERENCE_NEW_TABLE 64?,ACTION_REFERENCE_OLD_ROW 3,ACTION_REFERENCE_NEW_ROW 3,CREATED time?,\
         SQL_MODE 520n,DEFINER 288n,CHARACTER_SET_CLIENT 64,COLLATION_CONNECTION 64,DATABASE_COLLATION 64",
    ),
    (
        IS,
        "EVENTS",
        "EVENT_CATALOG 64n,EVENT_SCHEMA 64n,EVENT_NAME 64,DEFINER 288n,TIME_ZONE 64n,EVENT_BODY 3,\
         EVENT_DEFINITION textn,EVENT_TYPE 9,EXECUTE_AT time?,INTERVAL_VALUE 256?,INTERVAL_FIELD 18n?,SQL_MODE 520n,\
         STARTS time?,ENDS time?,STATUS 18n,ON_COMPLETION 12,CREATED time,LAST_ALTERED time,LAST_EXECUTED time?,\
         EVENT_COMMENT 2048n,ORIGINATOR uint,CHARACTER_SET_CLIENT 64,COLLATION_CONNECTION 64,DATABASE_COLLATION 64",
    ),
    (
        IS,
        "PARTITIONS",
        "TABLE_CATALOG 64n,TABLE_SCHEMA 64n,TABLE_NAME 64n,PARTITION_NAME 64l?,SUBPARTITION_NAME 64l?,\
         PARTITION_ORDINAL_POSITION uint?,SUBPARTITION_ORDINAL_POSITION uint?,SECONDARY_LOAD 64n?,PARTITION_METHOD 13?,\
         SUBPARTITION_METHOD 13?,PARTITION_EXPRESSION 2048n?,SUBPARTITION_EXPRESSION 2048n?,\
         PARTITION_DESCRIPTION textn?,TABLE_ROWS uint?,AVG_ROW_LENGTH uint?,DATA_LENGTH uint?,MAX_DATA_LENGTH uint?,\
         INDEX_LENGTH uint?,DATA_FREE uint?,CREATE_TIME time?,UPDATE_TIME time?,CHECK_TIME time?,CHECKSUM int?,\
         PARTITION_COMMENT textn,NODEGROUP 256?,TABLESPACE_NAME 268n?",
    ),
    (
        IS,
        "FILES",
        "FILE_ID int?,FILE_NAME textn?,FILE_TYPE 256?,TABLESPACE_NAME 268n?,TABLE_CATALOG 64,TABLE_SCHEMA 64?,\
         TABLE_NAME 64?,LOGFILE_GROUP_NAME 256?,LOGFILE_GROUP_NUMBER int?,ENGINE 64,FULLTEXT_KEYS 64?,\
         DELETED_ROWS int?,UPDATE_COUNT int?,FREE_EXTENTS int?,TOTAL_EXTENTS int?,EXTENT_SIZE int?,INITIAL_SIZE int?,\
         MAXIMUM_SIZE int?,AUTOEXTEND_SIZE int?,CREATION_TIME time?,LAST_UPDATE_TIME time?,LAST_ACCESS_TIME time?,\
         RECOVER_TIME int?,TRANSACTION_COUNTER int?,VERSION uint?,ROW_FORMAT 256?,TABLE_ROWS uint?,\
         AVG_ROW_LENGTH uint?,DATA_LENGTH uint?,MAX_DATA_LENGTH uint?,INDEX_LENGTH uint?,DATA_FREE uint?,\
         CREATE_TIME time?,UPDATE_TIME time?,CHECK_TIME time?,CHECKSUM uint?,STATUS 256?,EXTRA 256?",
    ),
    (
        IS,
        "PLUGINS",
        "PLUGIN_NAME 64,PLUGIN_VERSION 20,PLUGIN_STATUS 10,PLUGIN_TYPE 80,PLUGIN_TYPE_VERSION 20,PLUGIN_LIBRARY 64?,\
         PLUGIN_LIBRARY_VERSION 20?,PLUGIN_AUTHOR 64?,PLUGIN_DESCRIPTION text?,PLUGIN_LICENSE 80?,LOAD_OPTION 64",
    ),
    (
        IS,
        "USER_PRIVILEGES",
        "GRANTEE 292,TABLE_CATALOG 512,PRIVILEGE_TYPE 64,IS_GRANTABLE 3",
    ),
    (
        IS,
        "SCHEMA_PRIVILEGES",
        "GRANTEE 292,TABLE_CATALOG 512,TABLE_SCHEMA 64,PRIVILEGE_TYPE 64,IS_GRANTABLE 3",
    ),
    (
        IS,
        "TABLE_PRIVILEGES",
        "GRANTEE 292,TABLE_CATALOG 512,TABLE_SCHEMA 64,TABLE_NAME 64,PRIVILEGE_TYPE 64,IS_GRANTABLE 3",
    ),
    (
        IS,
        "COLUMN_PRIVILEGES",
        "GRANTEE 292,TABLE_CATALOG 512,TABLE_SCHEMA 64,TABLE_NAME 64,COLUMN_NAME 64,PRIVILEGE_TYPE 64,IS_GRANTABLE 3",
    ),
    (
        IS,
        "APPLICABLE_ROLES",
        "USER 97?,HOST 256?,GRANTEE 97?,GRANTEE_HOST 256?,ROLE_NAME 255?,ROLE_HOST 256?,IS_GRANTABLE 3,IS_DEFAULT 3?,\
         IS_MANDATORY 3",
    ),
    (
        IS,
        "ADMINISTRABLE_ROLE_AUTHORIZATIONS",
        "USER 97?,HOST 256?,GRANTEE 97?,GRANTEE_HOST 256?,ROLE_NAME 255?,ROLE_HOST 256?,IS_GRANTABLE 3,IS_DEFAULT 3?,\
         IS_MANDATORY 3",
    ),
    (
        IS,
        "ENABLED_ROLES",
        "ROLE_NAME 255?,ROLE_HOST 255?,IS_DEFAULT 3?,IS_MANDATORY 3",
    ),
    (
        IS,
        "ROLE_TABLE_GRANTS",
        "GRANTOR 97?,GRANTOR_HOST 256?,GRANTEE 32n,GRANTEE_HOST 255,TABLE_CATALOG 3,TABLE_SCHEMA 64n,TABLE_NAME 64n,\
         PRIVILEGE_TYPE 255,IS_GRANTABLE 3",
    ),
    (
        IS,
        "ROLE_COLUMN_GRANTS",
        "GRANTOR 97?,GRANTOR_HOST 256?,GRANTEE 32n,GRANTEE_HOST 255,TABLE_CATALOG 3,TABLE_SCHEMA 64n,TABLE_NAME 64n,\
         COLUMN_NAME 64n,PRIVILEGE_TYPE 64,IS_GRANTABLE 3",
    ),
    (
        IS,
        "COLUMN_STATISTICS",
        "SCHEMA_NAME 64n,TABLE_NAME 64n,COLUMN_NAME 64l,HISTOGRAM json",
    ),
    (
        IS,
        "TABLESPACES",
        "TABLESPACE_NAME 64,ENGINE 64,TABLESPACE_TYPE 64?,LOGFILE_GROUP_NAME 64?,EXTENT_SIZE uint?,AUTOEXTEND_SIZE \
         uint?,MAXIMUM_SIZE uint?,NODEGROUP_ID uint?,TABLESPACE_COMMENT 2048?",
    ),
    (IS, "KEYWORDS", "WORD 128?,RESERVED int?"),
    (
        MYSQL,
        "user",
        "Host 255,User 32n,Select_priv 1,Insert_priv 1,Update_priv 1,Delete_priv 1,Create_priv 1,Drop_priv 1,\
         Reload_priv 1,Shutdown_priv 1,Process_priv 1,File_priv 1,Grant_priv 1,References_priv 1,Index_priv 1,\
         Alter_priv 1,Show_db_priv 1,Super_priv 1,Create_tmp_table_priv 1,Lock_tables_priv 1,Execute_priv 1,\
         Repl_slave_priv 1,Repl_client_priv 1,Create_view_priv 1,Show_view_priv 1,Create_routine_priv 1,\
         Alter_routine_priv 1,Create_user_priv 1,Event_priv 1,Trigger_priv 1,Create_tablespace_priv 1,ssl_type 9,\
         ssl_cipher text,x509_issuer text,x509_subject text,max_questions uint,max_updates uint,max_connections uint,\
         max_user_connections uint,plugin 64n,authentication_string textn?,password_expired 1,\
         password_last_changed time?,password_lifetime uint?,account_locked 1,Create_role_priv 1,Drop_role_priv 1,\
         Password_reuse_history uint?,Password_reuse_time uint?,Password_require_current 1?,User_attributes text?",
    ),
    (
        MYSQL,
        "db",
        "Host 255,Db 64n,User 32n,Select_priv 1,Insert_priv 1,Update_priv 1,Delete_priv 1,Create_priv 1,Drop_priv 1,\
         Grant_priv 1,References_priv 1,Index_priv 1,Alter_priv 1,Create_tmp_table_priv 1,Lock_tables_priv 1,\
         Create_view_priv 1,Show_view_priv 1,Create_routine_priv 1,Alter_routine_priv 1,Execute_priv 1,Event_priv 1,\
         Trigger_priv 1",
    ),
    (
        MYSQL,
        "tables_priv",
        "Host 255,Db 64n,User 32n,Table_name 64n,Grantor 288n,Table_priv 255,Column_priv 64",
    ),
    (
        MYSQL,
        "columns_priv",
        "Host 255,Db 64n,User 32n,Table_name 64n,Column_name 64n,Column_priv 64",
    ),
    (
        MYSQL,
        "role_edges",
        "FROM_HOST 255,FROM_USER 32n,TO_HOST 255,TO_USER 32n,WITH_ADMIN_OPTION 1",
    ),
    (
        MYSQL,
        "default_roles",
        "HOST 255,USER 32n,DEFAULT_ROLE_HOST 255,DEFAULT_ROLE_USER 32n",
    ),
    (
        MYSQL,
        "global_grants",
        "USER 32n,HOST 255,PRIV 32,WITH_GRANT_OPTION 1",
    ),
    (
        MYSQL,
        "component",
        "component_id uint,component_group_id uint,component_urn text",
    ),
    (
        MYSQL,
        "innodb_table_stats",
        "database_name 64n,table_name 199n,last_update time,n_rows uint,clustered_index_size uint,sum_of_other_index_sizes uint",
    ),
    (
        MYSQL,
        "innodb_index_stats",
        "database_name 64n,table_name 199n,index_name 64n,last_update time,stat_name 64n,stat_value uint,sample_size uint?,\
         stat_description 1024n",
    ),
    (
        MYSQL,
        "general_log",
        "event_time time,user_host text,thread_id uint,server_id uint,command_type 64,argument text",
    ),
    (
        MYSQL,
        "slow_log",
        "start_time time,user_host text,query_time 16,lock_time 16,rows_sent int,rows_examined int,db 512,last_insert_id \
         int,insert_id int,server_id uint,sql_text text,thread_id uint",
    ),
    (PS, "global_variables", "VARIABLE_NAME 64,VARIABLE_VALUE 1024?"),
    (PS, "session_variables", "VARIABLE_NAME 64,VARIABLE_VALUE 1024?"),
    (PS, "persisted_variables", "VARIABLE_NAME 64,VARIABLE_VALUE 1024?"),
    (PS, "global_status", "VARIABLE_NAME 64,VARIABLE_VALUE 1024?"),
    (PS, "session_status", "VARIABLE_NAME 64,VARIABLE_VALUE 1024?"),
    (
        PS,
        "processlist",
        "ID uint,USER 32?,HOST 261?,DB 64?,COMMAND 16?,TIME int?,STATE 64?,INFO text?,EXECUTION_ENGINE 9?",
    ),
    (
        PS,
        "data_locks",
        "ENGINE 32,ENGINE_LOCK_ID 128,ENGINE_TRANSACTION_ID uint?,THREAD_ID uint?,EVENT_ID uint?,OBJECT_SCHEMA \
         64?,OBJECT_NAME 64?,PARTITION_NAME 64?,SUBPARTITION_NAME 64?,INDEX_NAME 64?,OBJECT_INSTANCE_BEGIN uint,LOCK_TYPE \
         32,LOCK_MODE 32,LOCK_STATUS 32,LOCK_DATA 8192?",
    ),
    (
        PS,
        "data_lock_waits",
        "ENGINE 32,REQUESTING_ENGINE_LOCK_ID 128,REQUESTING_ENGINE_TRANSACTION_ID uint?,REQUESTING_THREAD_ID \
         uint?,REQUESTING_EVENT_ID uint?,REQUESTING_OBJECT_INSTANCE_BEGIN uint,BLOCKING_ENGINE_LOCK_ID \
         128,BLOCKING_ENGINE_TRANSACTION_ID uint?,BLOCKING_THREAD_ID uint?,BLOCKING_EVENT_ID \
         uint?,BLOCKING_OBJECT_INSTANCE_BEGIN uint",
    ),
    (
        PS,
        "metadata_locks",
        "OBJECT_TYPE 64,OBJECT_SCHEMA 64?,OBJECT_NAME 64?,COLUMN_NAME 64?,OBJECT_INSTANCE_BEGIN uint,LOCK_TYPE \
         32,LOCK_DURATION 32,LOCK_STATUS 32,SOURCE 64?,OWNER_THREAD_ID uint?,OWNER_EVENT_ID uint?",
    ),
    (
        PS,
        "threads",
        "THREAD_ID uint,NAME 128,TYPE 10,PROCESSLIST_ID uint?,PROCESSLIST_USER 32?,PROCESSLIST_HOST 255?,PROCESSLIST_DB \
         64?,PROCESSLIST_COMMAND 16?,PROCESSLIST_TIME int?,PROCESSLIST_STATE 64?,PROCESSLIST_INFO text?,PARENT_THREAD_ID \
         uint?,ROLE 64?,INSTRUMENTED 3,HISTORY 3,CONNECTION_TYPE 16?,THREAD_OS_ID uint?,RESOURCE_GROUP \
         64?,EXECUTION_ENGINE 9?,CONTROLLED_MEMORY uint,MAX_CONTROLLED_MEMORY uint,TOTAL_MEMORY uint,MAX_TOTAL_MEMORY \
         uint,TELEMETRY_ACTIVE 3",
    ),
    (
        PS,
        "accounts",
        "USER 32b?,HOST 255?,CURRENT_CONNECTIONS int,TOTAL_CONNECTIONS int,MAX_SESSION_CONTROLLED_MEMORY uint,\
         MAX_SESSION_TOTAL_MEMORY uint",
    ),
    (
        PS,
        "users",
        "USER 32b?,CURRENT_CONNECTIONS int,TOTAL_CONNECTIONS int,MAX_SESSION_CONTROLLED_MEMORY uint,\
         MAX_SESSION_TOTAL_MEMORY uint",
    ),
    (
        PS,
        "hosts",
        "HOST 255?,CURRENT_CONNECTIONS int,TOTAL_CONNECTIONS int,MAX_SESSION_CONTROLLED_MEMORY uint,MAX_SESSION_TOTAL_MEMORY \
         uint",
    ),
    (PS, "setup_consumers", "NAME 64,ENABLED 3"),
    (
        PS,
        "setup_instruments",
        "NAME 128,ENABLED 3,TIMED 3?,PROPERTIES 128,FLAGS 16?,VOLATILITY int,DOCUMENTATION text?",
    ),
    (
        PS,
        "setup_actors",
        "HOST 255,USER 32b,ROLE 32b,ENABLED 3,HISTORY 3",
    ),
    (
        PS,
        "setup_objects",
        "OBJECT_TYPE 9,OBJECT_SCHEMA 64?,OBJECT_NAME 64,ENABLED 3,TIMED 3",
    ),
    (
        PS,
        "performance_timers",
        "TIMER_NAME 11,TIMER_FREQUENCY int?,TIMER_RESOLUTION int?,TIMER_OVERHEAD int?",
    ),
    (
        SYS,
        "tidemark_views",
        "pid uint?,user 32?,host 261?,statement text?,age_secs uint,lsn uint,versions uint,bytes uint,opened_by text?",
    ),
    (
        SYS,
        "tidemark_history",
        "reason 32,pid uint?,user 32?,host 261?,opened_by text?,age_secs uint,transactions uint?,versions uint?,bytes \
         uint?,ended_by 128",
    ),
    (
        SYS,
        "tidemark_hot_rows",
        "table_schema 64,table_name 64,row_key text?,updates uint,versions uint",
    ),
    (
        SYS,
        "innodb_lock_waits",
        "wait_started datetime?,wait_age duration?,wait_age_secs int?,locked_table text?,locked_table_schema \
         64?,locked_table_name 64?,locked_table_partition 64?,locked_table_subpartition 64?,locked_index 64?,locked_type \
         32,waiting_trx_id uint,waiting_trx_started datetime,waiting_trx_age duration?,waiting_trx_rows_locked \
         uint,waiting_trx_rows_modified uint,waiting_pid uint,waiting_query text?,waiting_lock_id 128,waiting_lock_mode \
         32,blocking_trx_id uint,blocking_pid uint,blocking_query text?,blocking_lock_id 128,blocking_lock_mode \
         32,blocking_trx_started datetime,blocking_trx_age duration?,blocking_trx_rows_locked \
         uint,blocking_trx_rows_modified uint,sql_kill_blocking_query 33?,sql_kill_blocking_connection 27?",
    ),
    (
        SYS,
        "schema_table_lock_waits",
        "object_schema 64?,object_name 64?,waiting_thread_id uint,waiting_pid uint?,waiting_account \
         text?,waiting_lock_type 32,waiting_lock_duration 32,waiting_query text?,waiting_query_secs \
         int?,waiting_query_rows_affected uint?,waiting_query_rows_examined uint?,blocking_thread_id \
         uint,blocking_pid uint?,blocking_account text?,blocking_lock_type 32,blocking_lock_duration \
         32,sql_kill_blocking_query 31?,sql_kill_blocking_connection 25?",
    ),
    (
        PS,
        "session_account_connect_attrs",
        "PROCESSLIST_ID uint,ATTR_NAME 32b,ATTR_VALUE 1024b?,ORDINAL_POSITION int?",
    ),
    (
        SYS,
        "x$innodb_lock_waits",
        "wait_started datetime?,wait_age duration?,wait_age_secs int?,locked_table text?,locked_table_schema \
         64?,locked_table_name 64?,locked_table_partition 64?,locked_table_subpartition 64?,locked_index 64?,locked_type \
         32,waiting_trx_id uint,waiting_trx_started datetime,waiting_trx_age duration?,waiting_trx_rows_locked \
         uint,waiting_trx_rows_modified uint,waiting_pid uint,waiting_query text?,waiting_lock_id 128,waiting_lock_mode \
         32,blocking_trx_id uint,blocking_pid uint,blocking_query text?,blocking_lock_id 128,blocking_lock_mode \
         32,blocking_trx_started datetime,blocking_trx_age duration?,blocking_trx_rows_locked \
         uint,blocking_trx_rows_modified uint,sql_kill_blocking_query 33?,sql_kill_blocking_connection 27?",
    ),
    (
        SYS,
        "x$schema_table_lock_waits",
        "object_schema 64?,object_name 64?,waiting_thread_id uint,waiting_pid uint?,waiting_account \
         text?,waiting_lock_type 32,waiting_lock_duration 32,waiting_query text?,waiting_query_secs \
         int?,waiting_query_rows_affected uint?,waiting_query_rows_examined uint?,blocking_thread_id \
         uint,blocking_pid uint?,blocking_account text?,blocking_lock_type 32,blocking_lock_duration \
         32,sql_kill_blocking_query 31?,sql_kill_blocking_connection 25?",
    ),
];
