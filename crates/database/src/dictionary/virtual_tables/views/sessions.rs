//! The views of `sys` on sessions: what they run, how far they are, what they are encrypted with; and on how the average times of
//! digests are distributed.

use super::View;

/// What sessions run: `processlist`, and `session` without threads in the background, which are none here.
const SESSIONS: View = View {
    name: "processlist",
    columns: "thd_id uint,conn_id uint?,user 288?,db 64?,command 16?,state 64?,time int?,current_statement text?,\
                  execution_engine 9?,statement_latency 11?,progress decimal?,lock_latency 11?,cpu_latency 11?,\
                  rows_examined uint?,rows_sent uint?,rows_affected uint?,tmp_tables uint?,tmp_disk_tables uint?,\
                  full_scan 3,last_statement text?,last_statement_latency 11?,current_memory 11?,last_wait 128?,\
                  last_wait_latency 20?,source 64?,trx_latency 11?,trx_state 11?,trx_autocommit 3?,pid 1024b?,\
                  program_name 1024b?",
    query: "select t.THREAD_ID AS thd_id, t.PROCESSLIST_ID AS conn_id, \
            concat(t.PROCESSLIST_USER, '@', substring_index(t.PROCESSLIST_HOST, ':', 1)) AS user, t.PROCESSLIST_DB AS db, \
            t.PROCESSLIST_COMMAND AS command, t.PROCESSLIST_STATE AS state, t.PROCESSLIST_TIME AS time, \
            short(t.PROCESSLIST_INFO) AS current_statement, t.EXECUTION_ENGINE AS execution_engine, \
            if(s.END_EVENT_ID is null, time(s.TIMER_WAIT), null) AS statement_latency, \
            if(s.END_EVENT_ID is null, round(100 * g.WORK_COMPLETED / nullif(g.WORK_ESTIMATED, 0), 2), null) AS progress, \
            time(s.LOCK_TIME) AS lock_latency, time(s.CPU_TIME) AS cpu_latency, s.ROWS_EXAMINED AS rows_examined, \
            s.ROWS_SENT AS rows_sent, s.ROWS_AFFECTED AS rows_affected, s.CREATED_TMP_TABLES AS tmp_tables, \
            s.CREATED_TMP_DISK_TABLES AS tmp_disk_tables, if(s.NO_INDEX_USED > 0, 'YES', 'NO') AS full_scan, \
            if(s.END_EVENT_ID is not null, short(s.SQL_TEXT), null) AS last_statement, \
            if(s.END_EVENT_ID is not null, time(s.TIMER_WAIT), null) AS last_statement_latency, size(m.CURRENT_NUMBER_OF_BYTES_USED) AS current_memory, \
            w.EVENT_NAME AS last_wait, if(w.EVENT_NAME is null, null, 'Still Waiting') AS last_wait_latency, s.SOURCE AS source, \
            time(x.TIMER_WAIT) AS trx_latency, x.STATE AS trx_state, x.AUTOCOMMIT AS trx_autocommit, p.ATTR_VALUE AS pid, \
            n.ATTR_VALUE AS program_name from performance_schema.threads t \
            left join performance_schema.events_statements_current s on s.THREAD_ID = t.THREAD_ID \
            left join performance_schema.events_stages_current g on g.THREAD_ID = t.THREAD_ID and g.END_EVENT_ID is null \
            left join performance_schema.events_transactions_current x on x.THREAD_ID = t.THREAD_ID \
            left join performance_schema.events_waits_current w on w.THREAD_ID = t.THREAD_ID \
            left join performance_schema.memory_summary_by_thread_by_event_name m on m.THREAD_ID = t.THREAD_ID \
            left join performance_schema.session_connect_attrs p on p.PROCESSLIST_ID = t.PROCESSLIST_ID and p.ATTR_NAME = '_pid' \
            left join performance_schema.session_connect_attrs n on n.PROCESSLIST_ID = t.PROCESSLIST_ID \
            and n.ATTR_NAME = 'program_name' order by t.PROCESSLIST_TIME desc",
    mergeable: true,
};

const SESSION: View = View {
    name: "session",
    ..SESSIONS
};

/// Those that come twice, see the floor above.
pub(super) const TWICE: &[View] = &[SESSIONS, SESSION];

/// Those without a form of plain numbers.
pub(super) const ONCE: &[View] = &[
    View {
        name: "session_ssl_status",
        columns: "thread_id uint,ssl_version 1024?,ssl_cipher 1024?,ssl_sessions_reused 1024?",
        query: "select v.THREAD_ID AS thread_id, v.VARIABLE_VALUE AS ssl_version, c.VARIABLE_VALUE AS ssl_cipher, \
                r.VARIABLE_VALUE AS ssl_sessions_reused from performance_schema.status_by_thread v \
                left join performance_schema.status_by_thread c on c.THREAD_ID = v.THREAD_ID and c.VARIABLE_NAME = 'Ssl_cipher' \
                left join performance_schema.status_by_thread r on r.THREAD_ID = v.THREAD_ID \
                and r.VARIABLE_NAME = 'Ssl_sessions_reused' where v.VARIABLE_NAME = 'Ssl_version'",
        mergeable: true,
    },
    View {
        name: "x$ps_digest_avg_latency_distribution",
        columns: "cnt int,avg_us decimal?",
        query: "select count(0) AS cnt, round(d.AVG_TIMER_WAIT / 1000000, 0) AS avg_us \
                from performance_schema.events_statements_summary_by_digest d group by round(d.AVG_TIMER_WAIT / 1000000, 0)",
        mergeable: false,
    },
    View {
        name: "x$ps_digest_95th_percentile_by_avg_us",
        columns: "avg_us decimal?,percentile decimal",
        query: "select r.avg_us AS avg_us, r.share AS percentile from (select l.avg_us AS avg_us, \
                sum(l.cnt) over (order by l.avg_us) / sum(l.cnt) over () AS share \
                from sys.x$ps_digest_avg_latency_distribution l) r where r.share > 0.95 order by r.share limit 1",
        mergeable: false,
    },
];
