//! The columns of the tables of files, memory, tables, transactions, stages and the log of the server, and of status variables by session,
//! user and host.

const IS: &str = "information_schema";
const PS: &str = "performance_schema";

/// How often, and how long, in all, at least, on average and at most.
macro_rules! timed {
    ($what:literal) => {
        concat!(
            ",COUNT_",
            $what,
            " uint,SUM_TIMER_",
            $what,
            " uint,MIN_TIMER_",
            $what,
            " uint,AVG_TIMER_",
            $what,
            " uint,MAX_TIMER_",
            $what,
            " uint"
        )
    };
}

/// The same of everything.
macro_rules! all_timed {
    () => {
        "COUNT_STAR uint,SUM_TIMER_WAIT uint,MIN_TIMER_WAIT uint,AVG_TIMER_WAIT uint,MAX_TIMER_WAIT uint"
    };
}

/// What is counted of files.
macro_rules! of_files {
    () => {
        concat!(
            all_timed!(),
            timed!("READ"),
            ",SUM_NUMBER_OF_BYTES_READ int",
            timed!("WRITE"),
            ",SUM_NUMBER_OF_BYTES_WRITE int",
            timed!("MISC")
        )
    };
}

/// What is counted of an error.
macro_rules! of_errors {
    () => {
        "ERROR_NUMBER int?,ERROR_NAME 64?,SQL_STATE 5?,SUM_ERROR_RAISED uint,SUM_ERROR_HANDLED uint,FIRST_SEEN time?,LAST_SEEN time?"
    };
}

/// What is counted of tables.
macro_rules! of_tables {
    () => {
        concat!(
            all_timed!(),
            timed!("READ"),
            timed!("WRITE"),
            timed!("FETCH"),
            timed!("INSERT"),
            timed!("UPDATE"),
            timed!("DELETE")
        )
    };
}

/// What is counted of memory.
macro_rules! of_memory {
    () => {
        "EVENT_NAME 128,COUNT_ALLOC uint,COUNT_FREE uint,SUM_NUMBER_OF_BYTES_ALLOC uint,SUM_NUMBER_OF_BYTES_FREE uint,\
         LOW_COUNT_USED int,CURRENT_COUNT_USED int,HIGH_COUNT_USED int,LOW_NUMBER_OF_BYTES_USED int,\
         CURRENT_NUMBER_OF_BYTES_USED int,HIGH_NUMBER_OF_BYTES_USED int"
    };
}

/// Schema, name, columns (see [`define`](super::define)).
pub(super) const LIST: &[(&str, &str, &str)] = &[
    (
        IS,
        "OPTIMIZER_TRACE",
        "QUERY 65535,TRACE 65535,MISSING_BYTES_BEYOND_MAX_MEM_SIZE int,INSUFFICIENT_PRIVILEGES int",
    ),
    (
        IS,
        "PROFILING",
        "QUERY_ID int,SEQ int,STATE 30,DURATION decimal,CPU_USER decimal?,CPU_SYSTEM decimal?,CONTEXT_VOLUNTARY int?,\
         CONTEXT_INVOLUNTARY int?,BLOCK_OPS_IN int?,BLOCK_OPS_OUT int?,MESSAGES_SENT int?,MESSAGES_RECEIVED int?,\
         PAGE_FAULTS_MAJOR int?,PAGE_FAULTS_MINOR int?,SWAPS int?,SOURCE_FUNCTION 30?,SOURCE_FILE 20?,SOURCE_LINE int?",
    ),
    (
        IS,
        "INNODB_TABLES",
        "TABLE_ID uint,NAME 655,FLAG int,N_COLS int,SPACE int,ROW_FORMAT 12?,ZIP_PAGE_SIZE uint,SPACE_TYPE 10?,INSTANT_COLS int,\
         TOTAL_ROW_VERSIONS int",
    ),
    (
        IS,
        "INNODB_INDEXES",
        "INDEX_ID uint,NAME 193,TABLE_ID uint,TYPE int,N_FIELDS int,PAGE_NO int,SPACE int,MERGE_THRESHOLD int",
    ),
    (IS, "INNODB_FIELDS", "INDEX_ID 256?,NAME 64l,POS uint"),
    (
        IS,
        "INNODB_TABLESTATS",
        "TABLE_ID uint,NAME 193,STATS_INITIALIZED 193,NUM_ROWS uint,CLUST_INDEX_SIZE uint,OTHER_INDEX_SIZE uint,\
         MODIFIED_COUNTER uint,AUTOINC uint,REF_COUNT int",
    ),
    (IS, "INNODB_DATAFILES", "SPACE 256?,PATH 512n"),
    (
        IS,
        "INNODB_TABLESPACES_BRIEF",
        "SPACE 256?,NAME 268n,PATH 512n,FLAG 256?,SPACE_TYPE 7",
    ),
    (
        IS,
        "INNODB_BUFFER_POOL_STATS",
        "POOL_ID uint,POOL_SIZE uint,FREE_BUFFERS uint,DATABASE_PAGES uint,OLD_DATABASE_PAGES uint,\
         MODIFIED_DATABASE_PAGES uint,PENDING_DECOMPRESS uint,PENDING_READS uint,PENDING_FLUSH_LRU uint,\
         PENDING_FLUSH_LIST uint,PAGES_MADE_YOUNG uint,PAGES_NOT_MADE_YOUNG uint,PAGES_MADE_YOUNG_RATE double,\
         PAGES_MADE_NOT_YOUNG_RATE double,NUMBER_PAGES_READ uint,NUMBER_PAGES_CREATED uint,NUMBER_PAGES_WRITTEN uint,\
         PAGES_READ_RATE double,PAGES_CREATE_RATE double,PAGES_WRITTEN_RATE double,NUMBER_PAGES_GET uint,HIT_RATE uint,\
         YOUNG_MAKE_PER_THOUSAND_GETS uint,NOT_YOUNG_MAKE_PER_THOUSAND_GETS uint,NUMBER_PAGES_READ_AHEAD uint,\
         NUMBER_READ_AHEAD_EVICTED uint,READ_AHEAD_RATE double,READ_AHEAD_EVICTED_RATE double,LRU_IO_TOTAL uint,\
         LRU_IO_CURRENT uint,UNCOMPRESS_TOTAL uint,UNCOMPRESS_CURRENT uint",
    ),
    (PS, "events_errors_summary_global_by_error", of_errors!()),
    (
        PS,
        "events_errors_summary_by_thread_by_error",
        concat!("THREAD_ID uint,", of_errors!()),
    ),
    (
        PS,
        "events_errors_summary_by_account_by_error",
        concat!("USER 32b?,HOST 255?,", of_errors!()),
    ),
    (
        PS,
        "events_errors_summary_by_user_by_error",
        concat!("USER 32b?,", of_errors!()),
    ),
    (
        PS,
        "events_errors_summary_by_host_by_error",
        concat!("HOST 255?,", of_errors!()),
    ),
    (
        PS,
        "objects_summary_global_by_type",
        concat!("OBJECT_TYPE 64?,OBJECT_SCHEMA 64?,OBJECT_NAME 64?,", all_timed!()),
    ),
    (
        PS,
        "setup_threads",
        "NAME 128,ENABLED 3,HISTORY 3,PROPERTIES 16,VOLATILITY int,DOCUMENTATION text?",
    ),
    (
        PS,
        "log_status",
        "SERVER_UUID 36b,LOCAL json,REPLICATION json,STORAGE_ENGINES json",
    ),
    (
        PS,
        "variables_info",
        "VARIABLE_NAME 64,VARIABLE_SOURCE 12?,VARIABLE_PATH 1024?,MIN_VALUE 64?,MAX_VALUE 64?,SET_TIME time6?,\
         SET_USER 32b?,SET_HOST 255?",
    ),
    (
        PS,
        "variables_metadata",
        "VARIABLE_NAME 64,VARIABLE_SCOPE 12,DATA_TYPE 11,MIN_VALUE 64?,MAX_VALUE 64?,DOCUMENTATION text",
    ),
    (
        PS,
        "variables_by_thread",
        "THREAD_ID uint,VARIABLE_NAME 64,VARIABLE_VALUE 1024?",
    ),
    (
        PS,
        "user_variables_by_thread",
        "THREAD_ID uint,VARIABLE_NAME 64,VARIABLE_VALUE text?",
    ),
    (
        IS,
        "INNODB_TABLESPACES",
        "SPACE uint,NAME 655,FLAG uint?,ROW_FORMAT 22?,PAGE_SIZE uint,ZIP_PAGE_SIZE uint,SPACE_TYPE 10?,FS_BLOCK_SIZE uint,\
         FILE_SIZE uint,ALLOCATED_SIZE uint,AUTOEXTEND_SIZE uint,SERVER_VERSION 10?,SPACE_VERSION uint,ENCRYPTION 1?,STATE 10?",
    ),
    (
        IS,
        "INNODB_CMP",
        "page_size int,compress_ops int,compress_ops_ok int,compress_time int,uncompress_ops int,uncompress_time int",
    ),
    (
        IS,
        "INNODB_CMP_RESET",
        "page_size int,compress_ops int,compress_ops_ok int,compress_time int,uncompress_ops int,uncompress_time int",
    ),
    (
        IS,
        "INNODB_CMPMEM",
        "page_size int,buffer_pool_instance int,pages_used int,pages_free int,relocation_ops int,relocation_time int",
    ),
    (
        IS,
        "INNODB_CMPMEM_RESET",
        "page_size int,buffer_pool_instance int,pages_used int,pages_free int,relocation_ops int,relocation_time int",
    ),
    (IS, "USER_ATTRIBUTES", "USER 32n,HOST 255,ATTRIBUTE textb?"),
    (
        IS,
        "TABLES_EXTENSIONS",
        "TABLE_CATALOG 64n,TABLE_SCHEMA 64n,TABLE_NAME 64n,ENGINE_ATTRIBUTE text?,SECONDARY_ENGINE_ATTRIBUTE text?",
    ),
    (
        IS,
        "COLUMNS_EXTENSIONS",
        "TABLE_CATALOG 64n,TABLE_SCHEMA 64n,TABLE_NAME 64n,COLUMN_NAME 64l?,ENGINE_ATTRIBUTE text?,\
         SECONDARY_ENGINE_ATTRIBUTE text?",
    ),
    (
        IS,
        "SCHEMATA_EXTENSIONS",
        "CATALOG_NAME 64n,SCHEMA_NAME 64n,OPTIONS 256?",
    ),
    (
        IS,
        "TABLE_CONSTRAINTS_EXTENSIONS",
        "CONSTRAINT_CATALOG 64n,CONSTRAINT_SCHEMA 64n,CONSTRAINT_NAME 64l,TABLE_NAME 64n,ENGINE_ATTRIBUTE text?,\
         SECONDARY_ENGINE_ATTRIBUTE text?",
    ),
    (
        PS,
        "error_log",
        "LOGGED time6,THREAD_ID uint?,PRIO 7,ERROR_CODE 10?,SUBSYSTEM 7?,DATA text",
    ),
    (
        PS,
        "file_instances",
        "FILE_NAME 512,EVENT_NAME 128,OPEN_COUNT uint",
    ),
    (
        PS,
        "file_summary_by_event_name",
        concat!("EVENT_NAME 128,", of_files!()),
    ),
    (
        PS,
        "file_summary_by_instance",
        concat!(
            "FILE_NAME 512,EVENT_NAME 128,OBJECT_INSTANCE_BEGIN uint,",
            of_files!()
        ),
    ),
    (
        PS,
        "memory_summary_global_by_event_name",
        concat!("", of_memory!()),
    ),
    (
        PS,
        "memory_summary_by_thread_by_event_name",
        concat!("THREAD_ID uint,", of_memory!()),
    ),
    (
        PS,
        "memory_summary_by_account_by_event_name",
        concat!("USER 32b?,HOST 255?,", of_memory!()),
    ),
    (
        PS,
        "memory_summary_by_user_by_event_name",
        concat!("USER 32b?,", of_memory!()),
    ),
    (
        PS,
        "memory_summary_by_host_by_event_name",
        concat!("HOST 255?,", of_memory!()),
    ),
    (
        PS,
        "session_connect_attrs",
        "PROCESSLIST_ID uint,ATTR_NAME 32b,ATTR_VALUE 1024b?,ORDINAL_POSITION int?",
    ),
    (
        PS,
        "status_by_account",
        "USER 32b?,HOST 255?,VARIABLE_NAME 64,VARIABLE_VALUE 1024?",
    ),
    (
        PS,
        "status_by_host",
        "HOST 255?,VARIABLE_NAME 64,VARIABLE_VALUE 1024?",
    ),
    (
        PS,
        "status_by_thread",
        "THREAD_ID uint,VARIABLE_NAME 64,VARIABLE_VALUE 1024?",
    ),
    (
        PS,
        "status_by_user",
        "USER 32b?,VARIABLE_NAME 64,VARIABLE_VALUE 1024?",
    ),
    (
        PS,
        "table_io_waits_summary_by_index_usage",
        concat!(
            "OBJECT_TYPE 64?,OBJECT_SCHEMA 64?,OBJECT_NAME 64?,INDEX_NAME 64?,",
            of_tables!()
        ),
    ),
    (
        PS,
        "table_io_waits_summary_by_table",
        concat!("OBJECT_TYPE 64?,OBJECT_SCHEMA 64?,OBJECT_NAME 64?,", of_tables!()),
    ),
    (
        PS,
        "table_lock_waits_summary_by_table",
        concat!(
            "OBJECT_TYPE 64?,OBJECT_SCHEMA 64?,OBJECT_NAME 64?,",
            all_timed!(),
            timed!("READ"),
            timed!("WRITE"),
            timed!("READ_NORMAL"),
            timed!("READ_WITH_SHARED_LOCKS"),
            timed!("READ_HIGH_PRIORITY"),
            timed!("READ_NO_INSERT"),
            timed!("READ_EXTERNAL"),
            timed!("WRITE_ALLOW_WRITE"),
            timed!("WRITE_CONCURRENT_INSERT"),
            timed!("WRITE_LOW_PRIORITY"),
            timed!("WRITE_NORMAL"),
            timed!("WRITE_EXTERNAL")
        ),
    ),
    (PS, "tls_channel_status", "CHANNEL 128,PROPERTY 128,VALUE 2048"),
];
