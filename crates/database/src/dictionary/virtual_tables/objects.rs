//! The columns of the tables of what sessions hold (prepared statements, tables, sockets), of the hosts that they come from, and of what
//! the engine's tables consist of.

const IS: &str = "information_schema";
const PS: &str = "performance_schema";
const SYS: &str = "sys";

/// How often, and how long, in all, at least, on average and at most; and how many bytes.
macro_rules! of_sockets {
    () => {
        "COUNT_STAR uint,SUM_TIMER_WAIT uint,MIN_TIMER_WAIT uint,AVG_TIMER_WAIT uint,MAX_TIMER_WAIT uint,COUNT_READ uint,\
         SUM_TIMER_READ uint,MIN_TIMER_READ uint,AVG_TIMER_READ uint,MAX_TIMER_READ uint,SUM_NUMBER_OF_BYTES_READ uint,\
         COUNT_WRITE uint,SUM_TIMER_WRITE uint,MIN_TIMER_WRITE uint,AVG_TIMER_WRITE uint,MAX_TIMER_WRITE uint,\
         SUM_NUMBER_OF_BYTES_WRITE uint,COUNT_MISC uint,SUM_TIMER_MISC uint,MIN_TIMER_MISC uint,AVG_TIMER_MISC uint,\
         MAX_TIMER_MISC uint"
    };
}

/// Schema, name, columns (see [`define`](super::define)).
pub(super) const LIST: &[(&str, &str, &str)] = &[
    (
        PS,
        "host_cache",
        "IP 64,HOST 255?,HOST_VALIDATED 3,SUM_CONNECT_ERRORS int,COUNT_HOST_BLOCKED_ERRORS int,\
         COUNT_NAMEINFO_TRANSIENT_ERRORS int,COUNT_NAMEINFO_PERMANENT_ERRORS int,COUNT_FORMAT_ERRORS int,\
         COUNT_ADDRINFO_TRANSIENT_ERRORS int,COUNT_ADDRINFO_PERMANENT_ERRORS int,COUNT_FCRDNS_ERRORS int,\
         COUNT_HOST_ACL_ERRORS int,COUNT_NO_AUTH_PLUGIN_ERRORS int,COUNT_AUTH_PLUGIN_ERRORS int,COUNT_HANDSHAKE_ERRORS int,\
         COUNT_PROXY_USER_ERRORS int,COUNT_PROXY_USER_ACL_ERRORS int,COUNT_AUTHENTICATION_ERRORS int,COUNT_SSL_ERRORS int,\
         COUNT_MAX_USER_CONNECTIONS_ERRORS int,COUNT_MAX_USER_CONNECTIONS_PER_HOUR_ERRORS int,\
         COUNT_DEFAULT_DATABASE_ERRORS int,COUNT_INIT_CONNECT_ERRORS int,COUNT_LOCAL_ERRORS int,\
         COUNT_ACCOUNT_LOCKED_ERRORS int,COUNT_TEMPORARY_ACCOUNT_LOCKED_ERRORS int,COUNT_UNKNOWN_ERRORS int,FIRST_SEEN time,\
         LAST_SEEN time,FIRST_ERROR_SEEN time?,LAST_ERROR_SEEN time?",
    ),
    (
        PS,
        "socket_instances",
        "EVENT_NAME 128,OBJECT_INSTANCE_BEGIN uint,THREAD_ID uint?,SOCKET_ID int,IP 64,PORT int,STATE 6",
    ),
    (
        PS,
        "socket_summary_by_instance",
        concat!("EVENT_NAME 128,OBJECT_INSTANCE_BEGIN uint,", of_sockets!()),
    ),
    (
        PS,
        "socket_summary_by_event_name",
        concat!("EVENT_NAME 128,", of_sockets!()),
    ),
    (
        PS,
        "table_handles",
        "OBJECT_TYPE 64,OBJECT_SCHEMA 64,OBJECT_NAME 64,OBJECT_INSTANCE_BEGIN uint,OWNER_THREAD_ID uint?,OWNER_EVENT_ID uint?,\
         INTERNAL_LOCK 64?,EXTERNAL_LOCK 64?",
    ),
    (
        PS,
        "prepared_statements_instances",
        "OBJECT_INSTANCE_BEGIN uint,STATEMENT_ID uint,STATEMENT_NAME 64?,SQL_TEXT text,OWNER_THREAD_ID uint,OWNER_EVENT_ID uint,\
         OWNER_OBJECT_TYPE 9?,OWNER_OBJECT_SCHEMA 64?,OWNER_OBJECT_NAME 64?,EXECUTION_ENGINE 9?,TIMER_PREPARE uint,\
         COUNT_REPREPARE uint,COUNT_EXECUTE uint,SUM_TIMER_EXECUTE uint,MIN_TIMER_EXECUTE uint,AVG_TIMER_EXECUTE uint,\
         MAX_TIMER_EXECUTE uint,SUM_LOCK_TIME uint,SUM_ERRORS uint,SUM_WARNINGS uint,SUM_ROWS_AFFECTED uint,SUM_ROWS_SENT uint,\
         SUM_ROWS_EXAMINED uint,SUM_CREATED_TMP_DISK_TABLES uint,SUM_CREATED_TMP_TABLES uint,SUM_SELECT_FULL_JOIN uint,\
         SUM_SELECT_FULL_RANGE_JOIN uint,SUM_SELECT_RANGE uint,SUM_SELECT_RANGE_CHECK uint,SUM_SELECT_SCAN uint,\
         SUM_SORT_MERGE_PASSES uint,SUM_SORT_RANGE uint,SUM_SORT_ROWS uint,SUM_SORT_SCAN uint,SUM_NO_INDEX_USED uint,\
         SUM_NO_GOOD_INDEX_USED uint,SUM_CPU_TIME uint,MAX_CONTROLLED_MEMORY uint,MAX_TOTAL_MEMORY uint,COUNT_SECONDARY uint",
    ),
    (
        PS,
        "innodb_redo_log_files",
        "FILE_ID int,FILE_NAME 2000,START_LSN int,END_LSN int,SIZE_IN_BYTES int,IS_FULL int,CONSUMER_LEVEL int",
    ),
    (
        PS,
        "temporary_account_locks",
        "USER 32b,HOST 255,LOCKED 3,FAILED_LOGIN_ATTEMPTS int,REMAINING_LOGIN_ATTEMPTS int,PASSWORD_LOCK_TIME int,\
         LOCKED_SINCE date?,LOCKED_UNTIL date?",
    ),
    (
        PS,
        "user_defined_functions",
        "UDF_NAME 64,UDF_RETURN_TYPE 20,UDF_TYPE 20,UDF_LIBRARY 1024?,UDF_USAGE_COUNT int?",
    ),
    (
        SYS,
        "sys_config",
        "variable 128,value 128?,set_time time?,set_by 128?",
    ),
    (
        IS,
        "INNODB_COLUMNS",
        "TABLE_ID uint,NAME 193,POS uint,MTYPE int,PRTYPE int,LEN int,HAS_DEFAULT int,DEFAULT_VALUE text?",
    ),
    (
        IS,
        "INNODB_BUFFER_PAGE",
        "POOL_ID uint,BLOCK_ID uint,SPACE uint,PAGE_NUMBER uint,PAGE_TYPE 64?,FLUSH_TYPE uint,FIX_COUNT uint,IS_HASHED 3?,\
         NEWEST_MODIFICATION uint,OLDEST_MODIFICATION uint,ACCESS_TIME uint,TABLE_NAME 1024?,INDEX_NAME 64?,NUMBER_RECORDS \
         uint,DATA_SIZE uint,COMPRESSED_SIZE uint,PAGE_STATE 64?,IO_FIX 64?,IS_OLD 3?,FREE_PAGE_CLOCK uint,IS_STALE 3?",
    ),
    (
        IS,
        "INNODB_BUFFER_PAGE_LRU",
        "POOL_ID uint,LRU_POSITION uint,SPACE uint,PAGE_NUMBER uint,PAGE_TYPE 64?,FLUSH_TYPE uint,FIX_COUNT uint,IS_HASHED \
         3?,NEWEST_MODIFICATION uint,OLDEST_MODIFICATION uint,ACCESS_TIME uint,TABLE_NAME 1024?,INDEX_NAME 64?,\
         NUMBER_RECORDS uint,DATA_SIZE uint,COMPRESSED_SIZE uint,COMPRESSED 3?,IO_FIX 64?,IS_OLD 3?,FREE_PAGE_CLOCK uint",
    ),
    (
        IS,
        "INNODB_CACHED_INDEXES",
        "SPACE_ID uint,INDEX_ID uint,N_CACHED_PAGES uint",
    ),
    (IS, "INNODB_VIRTUAL", "TABLE_ID uint,POS uint,BASE_POS uint"),
    (IS, "INNODB_FT_DEFAULT_STOPWORD", "value 18"),
    (
        IS,
        "TABLESPACES_EXTENSIONS",
        "TABLESPACE_NAME 268n,ENGINE_ATTRIBUTE text?",
    ),
];
