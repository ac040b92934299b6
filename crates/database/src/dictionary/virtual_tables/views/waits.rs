//! The views of `sys` on what users, hosts and threads have waited for.

use super::View;

/// Those that come twice, see the floor above.
pub(super) const TWICE: &[View] = &[
    View {
        name: "waits_by_user_by_latency",
        columns: "user 32?,event 128,total uint,total_latency 11?,avg_latency 11?,max_latency 11?",
        query: "select ifnull(w.USER, 'background') AS user, w.EVENT_NAME AS event, w.COUNT_STAR AS total, \
                time(w.SUM_TIMER_WAIT) AS total_latency, time(w.AVG_TIMER_WAIT) AS avg_latency, \
                time(w.MAX_TIMER_WAIT) AS max_latency from performance_schema.events_waits_summary_by_user_by_event_name w \
                where w.EVENT_NAME <> 'idle' and w.SUM_TIMER_WAIT > 0 order by ifnull(w.USER, 'background'), w.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "user_summary_by_file_io",
        columns: "user 32?,ios decimal?,io_latency 11?",
        query: "select ifnull(w.USER, 'background') AS user, sum(w.COUNT_STAR) AS ios, time(sum(w.SUM_TIMER_WAIT)) AS io_latency \
                from performance_schema.events_waits_summary_by_user_by_event_name w where w.EVENT_NAME like 'wait/io/file/%' \
                group by ifnull(w.USER, 'background') order by sum(w.SUM_TIMER_WAIT) desc",
        mergeable: false,
    },
    View {
        name: "user_summary_by_file_io_type",
        columns: "user 32?,event_name 128,total uint,latency 11?,max_latency 11?",
        query: "select ifnull(w.USER, 'background') AS user, w.EVENT_NAME AS event_name, w.COUNT_STAR AS total, \
                time(w.SUM_TIMER_WAIT) AS latency, time(w.MAX_TIMER_WAIT) AS max_latency \
                from performance_schema.events_waits_summary_by_user_by_event_name w where w.EVENT_NAME like 'wait/io/file/%' and w.COUNT_STAR > 0 \
                order by ifnull(w.USER, 'background'), w.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "waits_by_host_by_latency",
        columns: "host 255?,event 128,total uint,total_latency 11?,avg_latency 11?,max_latency 11?",
        query: "select ifnull(w.HOST, 'background') AS host, w.EVENT_NAME AS event, w.COUNT_STAR AS total, \
                time(w.SUM_TIMER_WAIT) AS total_latency, time(w.AVG_TIMER_WAIT) AS avg_latency, \
                time(w.MAX_TIMER_WAIT) AS max_latency from performance_schema.events_waits_summary_by_host_by_event_name w \
                where w.EVENT_NAME <> 'idle' and w.SUM_TIMER_WAIT > 0 order by ifnull(w.HOST, 'background'), w.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "host_summary_by_file_io",
        columns: "host 255?,ios decimal?,io_latency 11?",
        query: "select ifnull(w.HOST, 'background') AS host, sum(w.COUNT_STAR) AS ios, time(sum(w.SUM_TIMER_WAIT)) AS io_latency \
                from performance_schema.events_waits_summary_by_host_by_event_name w where w.EVENT_NAME like 'wait/io/file/%' \
                group by ifnull(w.HOST, 'background') order by sum(w.SUM_TIMER_WAIT) desc",
        mergeable: false,
    },
    View {
        name: "host_summary_by_file_io_type",
        columns: "host 255?,event_name 128,total uint,total_latency 11?,max_latency 11?",
        query: "select ifnull(w.HOST, 'background') AS host, w.EVENT_NAME AS event_name, w.COUNT_STAR AS total, \
                time(w.SUM_TIMER_WAIT) AS total_latency, time(w.MAX_TIMER_WAIT) AS max_latency \
                from performance_schema.events_waits_summary_by_host_by_event_name w where w.EVENT_NAME like 'wait/io/file/%' and w.COUNT_STAR > 0 \
                order by ifnull(w.HOST, 'background'), w.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "io_by_thread_by_latency",
        columns: "user 288?,total decimal?,total_latency 11?,min_latency 11?,avg_latency 11?,max_latency 11?,thread_id \
                  uint,processlist_id uint?",
        query: "select max(concat(t.PROCESSLIST_USER, '@', substring_index(t.PROCESSLIST_HOST, ':', 1))) AS user, \
                sum(w.COUNT_STAR) AS total, time(sum(w.SUM_TIMER_WAIT)) AS total_latency, \
                time(min(w.MIN_TIMER_WAIT)) AS min_latency, time(sum(w.SUM_TIMER_WAIT) / sum(w.COUNT_STAR)) AS avg_latency, \
                time(max(w.MAX_TIMER_WAIT)) AS max_latency, w.THREAD_ID AS thread_id, max(t.PROCESSLIST_ID) AS processlist_id \
                from performance_schema.events_waits_summary_by_thread_by_event_name w left join performance_schema.threads t \
                on t.THREAD_ID = w.THREAD_ID where w.EVENT_NAME like 'wait/io/file/%' and w.COUNT_STAR > 0 \
                group by w.THREAD_ID order by sum(w.SUM_TIMER_WAIT) desc",
        mergeable: false,
    },
];
