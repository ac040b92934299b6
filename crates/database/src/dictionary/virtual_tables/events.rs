//! The columns of the tables of events: statements, transactions, stages and waits, those that are under way, those that are over, and
//! sums of them.

const PS: &str = "performance_schema";

/// How often, and how long in all, at least, on average and at most.
macro_rules! timed {
    () => {
        "COUNT_STAR uint,SUM_TIMER_WAIT uint,MIN_TIMER_WAIT uint,AVG_TIMER_WAIT uint,MAX_TIMER_WAIT uint"
    };
}

/// The same of transactions, and of those that may write and those that may not.
macro_rules! of_transactions {
    () => {
        concat!(
            timed!(),
            ",COUNT_READ_WRITE uint,SUM_TIMER_READ_WRITE uint,MIN_TIMER_READ_WRITE uint,AVG_TIMER_READ_WRITE uint,\
             MAX_TIMER_READ_WRITE uint,COUNT_READ_ONLY uint,SUM_TIMER_READ_ONLY uint,MIN_TIMER_READ_ONLY uint,\
             AVG_TIMER_READ_ONLY uint,MAX_TIMER_READ_ONLY uint"
        )
    };
}

/// Which event of which session, and when.
macro_rules! event {
    () => {
        "THREAD_ID uint,EVENT_ID uint,END_EVENT_ID uint?,EVENT_NAME 128,"
    };
}

/// The times of an event.
macro_rules! times {
    () => {
        "SOURCE 64?,TIMER_START uint?,TIMER_END uint?,TIMER_WAIT uint?,"
    };
}

/// A statement.
const STATEMENT: &str = concat!(
    event!(),
    times!(),
    "LOCK_TIME uint,SQL_TEXT text?,DIGEST 64?,DIGEST_TEXT text?,CURRENT_SCHEMA 64?,OBJECT_TYPE 64?,OBJECT_SCHEMA 64?,\
     OBJECT_NAME 64?,OBJECT_INSTANCE_BEGIN uint?,MYSQL_ERRNO int?,RETURNED_SQLSTATE 5?,MESSAGE_TEXT 128?,ERRORS uint,\
     WARNINGS uint,ROWS_AFFECTED uint,ROWS_SENT uint,ROWS_EXAMINED uint,CREATED_TMP_DISK_TABLES uint,\
     CREATED_TMP_TABLES uint,SELECT_FULL_JOIN uint,SELECT_FULL_RANGE_JOIN uint,SELECT_RANGE uint,\
     SELECT_RANGE_CHECK uint,SELECT_SCAN uint,SORT_MERGE_PASSES uint,SORT_RANGE uint,SORT_ROWS uint,SORT_SCAN uint,\
     NO_INDEX_USED uint,NO_GOOD_INDEX_USED uint,NESTING_EVENT_ID uint?,NESTING_EVENT_TYPE 11?,NESTING_EVENT_LEVEL int?,\
     STATEMENT_ID uint?,CPU_TIME uint,MAX_CONTROLLED_MEMORY uint,MAX_TOTAL_MEMORY uint,EXECUTION_ENGINE 9?"
);

/// A transaction.
const TRANSACTION: &str = concat!(
    event!(),
    "STATE 11?,TRX_ID uint?,GTID 90?,XID_FORMAT_ID int?,XID_GTRID 130?,XID_BQUAL 130?,XA_STATE 64?,",
    times!(),
    "ACCESS_MODE 10?,ISOLATION_LEVEL 64?,AUTOCOMMIT 3,NUMBER_OF_SAVEPOINTS uint?,NUMBER_OF_ROLLBACK_TO_SAVEPOINT uint?,\
     NUMBER_OF_RELEASE_SAVEPOINT uint?,OBJECT_INSTANCE_BEGIN uint?,NESTING_EVENT_ID uint?,NESTING_EVENT_TYPE 11?"
);

/// A stage.
const STAGE: &str = concat!(
    event!(),
    times!(),
    "WORK_COMPLETED uint?,WORK_ESTIMATED uint?,NESTING_EVENT_ID uint?,NESTING_EVENT_TYPE 11?"
);

/// A wait.
const WAIT: &str = concat!(
    event!(),
    times!(),
    "SPINS uint?,OBJECT_SCHEMA 64?,OBJECT_NAME 512?,INDEX_NAME 64?,OBJECT_TYPE 64?,OBJECT_INSTANCE_BEGIN uint,\
     NESTING_EVENT_ID uint?,NESTING_EVENT_TYPE 11?,OPERATION 32,NUMBER_OF_BYTES int?,FLAGS uint?"
);

/// What is summed of statements.
macro_rules! sums {
    () => {
        "COUNT_STAR uint,SUM_TIMER_WAIT uint,MIN_TIMER_WAIT uint,AVG_TIMER_WAIT uint,MAX_TIMER_WAIT uint,\
         SUM_LOCK_TIME uint,SUM_ERRORS uint,SUM_WARNINGS uint,SUM_ROWS_AFFECTED uint,SUM_ROWS_SENT uint,\
         SUM_ROWS_EXAMINED uint,SUM_CREATED_TMP_DISK_TABLES uint,SUM_CREATED_TMP_TABLES uint,\
         SUM_SELECT_FULL_JOIN uint,SUM_SELECT_FULL_RANGE_JOIN uint,SUM_SELECT_RANGE uint,SUM_SELECT_RANGE_CHECK uint,\
         SUM_SELECT_SCAN uint,SUM_SORT_MERGE_PASSES uint,SUM_SORT_RANGE uint,SUM_SORT_ROWS uint,SUM_SORT_SCAN uint,\
         SUM_NO_INDEX_USED uint,SUM_NO_GOOD_INDEX_USED uint,SUM_CPU_TIME uint,MAX_CONTROLLED_MEMORY uint,\
         MAX_TOTAL_MEMORY uint,COUNT_SECONDARY uint"
    };
}

/// Schema, name, columns (see [`define`](super::define)).
pub(super) const LIST: &[(&str, &str, &str)] = &[
    (PS, "events_statements_current", STATEMENT),
    (PS, "events_statements_history", STATEMENT),
    (PS, "events_statements_history_long", STATEMENT),
    (PS, "events_transactions_current", TRANSACTION),
    (PS, "events_transactions_history", TRANSACTION),
    (PS, "events_transactions_history_long", TRANSACTION),
    (PS, "events_stages_current", STAGE),
    (PS, "events_stages_history", STAGE),
    (PS, "events_stages_history_long", STAGE),
    (PS, "events_waits_current", WAIT),
    (PS, "events_waits_history", WAIT),
    (PS, "events_waits_history_long", WAIT),
    (
        PS,
        "events_statements_summary_global_by_event_name",
        concat!("EVENT_NAME 128,", sums!()),
    ),
    (
        PS,
        "events_statements_summary_by_thread_by_event_name",
        concat!("THREAD_ID uint,EVENT_NAME 128,", sums!()),
    ),
    (
        PS,
        "events_statements_summary_by_account_by_event_name",
        concat!("USER 32b?,HOST 255?,EVENT_NAME 128,", sums!()),
    ),
    (
        PS,
        "events_statements_summary_by_user_by_event_name",
        concat!("USER 32b?,EVENT_NAME 128,", sums!()),
    ),
    (
        PS,
        "events_statements_summary_by_host_by_event_name",
        concat!("HOST 255?,EVENT_NAME 128,", sums!()),
    ),
    (
        PS,
        "events_transactions_summary_global_by_event_name",
        concat!("EVENT_NAME 128,", of_transactions!()),
    ),
    (
        PS,
        "events_transactions_summary_by_thread_by_event_name",
        concat!("THREAD_ID uint,EVENT_NAME 128,", of_transactions!()),
    ),
    (
        PS,
        "events_transactions_summary_by_account_by_event_name",
        concat!("USER 32b?,HOST 255?,EVENT_NAME 128,", of_transactions!()),
    ),
    (
        PS,
        "events_transactions_summary_by_user_by_event_name",
        concat!("USER 32b?,EVENT_NAME 128,", of_transactions!()),
    ),
    (
        PS,
        "events_transactions_summary_by_host_by_event_name",
        concat!("HOST 255?,EVENT_NAME 128,", of_transactions!()),
    ),
    (
        PS,
        "events_stages_summary_global_by_event_name",
        concat!("EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_stages_summary_by_thread_by_event_name",
        concat!("THREAD_ID uint,EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_stages_summary_by_account_by_event_name",
        concat!("USER 32b?,HOST 255?,EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_stages_summary_by_user_by_event_name",
        concat!("USER 32b?,EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_stages_summary_by_host_by_event_name",
        concat!("HOST 255?,EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_waits_summary_by_account_by_event_name",
        concat!("USER 32b?,HOST 255?,EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_waits_summary_by_user_by_event_name",
        concat!("USER 32b?,EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_waits_summary_by_host_by_event_name",
        concat!("HOST 255?,EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_waits_summary_global_by_event_name",
        concat!("EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_waits_summary_by_thread_by_event_name",
        concat!("THREAD_ID uint,EVENT_NAME 128,", timed!()),
    ),
    (
        PS,
        "events_statements_summary_by_digest",
        concat!(
            "SCHEMA_NAME 64?,DIGEST 64?,DIGEST_TEXT text?,",
            sums!(),
            ",FIRST_SEEN time6,LAST_SEEN time6,QUANTILE_95 uint,QUANTILE_99 uint,QUANTILE_999 uint,QUERY_SAMPLE_TEXT text?,\
             QUERY_SAMPLE_SEEN time6,QUERY_SAMPLE_TIMER_WAIT uint"
        ),
    ),
    (
        PS,
        "events_statements_histogram_by_digest",
        "SCHEMA_NAME 64?,DIGEST 64?,BUCKET_NUMBER uint,BUCKET_TIMER_LOW uint,BUCKET_TIMER_HIGH uint,COUNT_BUCKET uint,\
         COUNT_BUCKET_AND_LOWER uint,BUCKET_QUANTILE double",
    ),
    (
        PS,
        "events_statements_histogram_global",
        "BUCKET_NUMBER uint,BUCKET_TIMER_LOW uint,BUCKET_TIMER_HIGH uint,COUNT_BUCKET uint,COUNT_BUCKET_AND_LOWER uint,\
         BUCKET_QUANTILE double",
    ),
];
