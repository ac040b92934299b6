//! The views of `sys` that come for users and for hosts: what each has run, waited for and holds. They are written once.

use super::View;

/// What stands in the texts for users, and for hosts. MySQL gives one column two names.
const OWNERS: [[(&str, &str); 6]; 2] = [
    [
        ("$owner", "user"),
        ("$OWNER", "USER"),
        ("$other", "host"),
        ("$OTHER", "HOST"),
        ("$wide", "32b"),
        ("$latency", "latency"),
    ],
    [
        ("$owner", "host"),
        ("$OWNER", "HOST"),
        ("$other", "user"),
        ("$OTHER", "USER"),
        ("$wide", "255"),
        ("$latency", "total_latency"),
    ],
];

/// All of them, those of users first.
pub(super) fn all() -> impl Iterator<Item = View<String>> + Clone {
    OWNERS.iter().flat_map(|owner| {
        let text = move |text: &str| {
            let replaced = |text: String, (word, what): &(&str, &str)| text.replace(word, what);
            owner.iter().fold(text.to_owned(), replaced)
        };
        BY_OWNER.iter().map(move |view| view.map(text))
    })
}

/// `$owner` is `user` or `host`, `$other` the other one, `$wide` how long its name may be.
const BY_OWNER: &[View] = &[
    View {
        name: "$owner_summary_by_statement_type",
        columns: "$owner $wide?,statement 128?,total uint,total_latency 11?,max_latency 11?,lock_latency 11?,cpu_latency 11?,rows_sent \
                  uint,rows_examined uint,rows_affected uint,full_scans uint",
        query: "select ifnull(s.$OWNER, 'background') AS $owner, substring_index(s.EVENT_NAME, '/', -1) AS statement, \
                s.COUNT_STAR AS total, time(s.SUM_TIMER_WAIT) AS total_latency, time(s.MAX_TIMER_WAIT) AS max_latency, \
                time(s.SUM_LOCK_TIME) AS lock_latency, time(s.SUM_CPU_TIME) AS cpu_latency, s.SUM_ROWS_SENT AS rows_sent, \
                s.SUM_ROWS_EXAMINED AS rows_examined, s.SUM_ROWS_AFFECTED AS rows_affected, s.SUM_NO_INDEX_USED AS full_scans \
                from performance_schema.events_statements_summary_by_$owner_by_event_name s where s.SUM_TIMER_WAIT > 0 \
                order by ifnull(s.$OWNER, 'background'), s.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "$owner_summary_by_statement_latency",
        columns: "$owner $wide?,total decimal?,total_latency 11?,max_latency 11?,lock_latency 11?,cpu_latency 11?,rows_sent \
                  decimal?,rows_examined decimal?,rows_affected decimal?,full_scans decimal?",
        query: "select ifnull(s.$OWNER, 'background') AS $owner, sum(s.COUNT_STAR) AS total, \
                time(sum(s.SUM_TIMER_WAIT)) AS total_latency, time(max(s.MAX_TIMER_WAIT)) AS max_latency, \
                time(sum(s.SUM_LOCK_TIME)) AS lock_latency, time(sum(s.SUM_CPU_TIME)) AS cpu_latency, \
                sum(s.SUM_ROWS_SENT) AS rows_sent, sum(s.SUM_ROWS_EXAMINED) AS rows_examined, \
                sum(s.SUM_ROWS_AFFECTED) AS rows_affected, sum(s.SUM_NO_INDEX_USED) AS full_scans \
                from performance_schema.events_statements_summary_by_$owner_by_event_name s group by ifnull(s.$OWNER, 'background') \
                order by sum(s.SUM_TIMER_WAIT) desc",
        mergeable: false,
    },
    View {
        name: "$owner_summary",
        columns: "$owner $wide?,statements decimal?,statement_latency 11?,statement_avg_latency 11?,table_scans decimal?,file_ios \
                  decimal?,file_io_latency 11?,current_connections decimal?,total_connections decimal?,unique_$others \
                  int,current_memory 11?,total_memory_allocated 11?",
        query: "select ifnull(o.$OWNER, 'background') AS $owner, s.statements AS statements, time(s.latency) AS statement_latency, \
                time(s.latency / s.statements) AS statement_avg_latency, s.scans AS table_scans, f.ios AS file_ios, \
                time(f.latency) AS file_io_latency, o.CURRENT_CONNECTIONS AS current_connections, o.TOTAL_CONNECTIONS AS total_connections, \
                (select count(distinct a.$OTHER) from performance_schema.accounts a where a.$OWNER <=> o.$OWNER) AS unique_$others, \
                (select size(sum(m.CURRENT_NUMBER_OF_BYTES_USED)) from performance_schema.memory_summary_by_$owner_by_event_name m \
                where m.$OWNER <=> o.$OWNER) AS current_memory, null AS total_memory_allocated from performance_schema.$owners o \
                join (select e.$OWNER AS $owner, sum(e.COUNT_STAR) AS statements, sum(e.SUM_TIMER_WAIT) AS latency, \
                sum(e.SUM_NO_INDEX_USED) AS scans from performance_schema.events_statements_summary_by_$owner_by_event_name e \
                group by e.$OWNER) s on s.$owner <=> o.$OWNER \
                left join (select w.$OWNER AS $owner, sum(w.COUNT_STAR) AS ios, sum(w.SUM_TIMER_WAIT) AS latency \
                from performance_schema.events_waits_summary_by_$owner_by_event_name w where w.EVENT_NAME like 'wait/io/file/%' \
                group by w.$OWNER) f on f.$owner <=> o.$OWNER order by s.latency desc",
        mergeable: true,
    },
    View {
        name: "$owner_summary_by_stages",
        columns: "$owner $wide?,event_name 128,total uint,total_latency 11?,avg_latency 11?",
        query: "select ifnull(g.$OWNER, 'background') AS $owner, g.EVENT_NAME AS event_name, g.COUNT_STAR AS total, \
                time(g.SUM_TIMER_WAIT) AS total_latency, time(g.AVG_TIMER_WAIT) AS avg_latency \
                from performance_schema.events_stages_summary_by_$owner_by_event_name g where g.SUM_TIMER_WAIT > 0 \
                order by ifnull(g.$OWNER, 'background'), g.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "waits_by_$owner_by_latency",
        columns: "$owner $wide?,event 128,total uint,total_latency 11?,avg_latency 11?,max_latency 11?",
        query: "select ifnull(w.$OWNER, 'background') AS $owner, w.EVENT_NAME AS event, w.COUNT_STAR AS total, \
                time(w.SUM_TIMER_WAIT) AS total_latency, time(w.AVG_TIMER_WAIT) AS avg_latency, \
                time(w.MAX_TIMER_WAIT) AS max_latency from performance_schema.events_waits_summary_by_$owner_by_event_name w \
                where w.EVENT_NAME <> 'idle' and w.SUM_TIMER_WAIT > 0 order by ifnull(w.$OWNER, 'background'), w.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "$owner_summary_by_file_io",
        columns: "$owner $wide?,ios decimal?,io_latency 11?",
        query: "select ifnull(w.$OWNER, 'background') AS $owner, sum(w.COUNT_STAR) AS ios, time(sum(w.SUM_TIMER_WAIT)) AS io_latency \
                from performance_schema.events_waits_summary_by_$owner_by_event_name w where w.EVENT_NAME like 'wait/io/file/%' \
                group by ifnull(w.$OWNER, 'background') order by sum(w.SUM_TIMER_WAIT) desc",
        mergeable: false,
    },
    View {
        name: "$owner_summary_by_file_io_type",
        columns: "$owner $wide?,event_name 128,total uint,$latency 11?,max_latency 11?",
        query: "select ifnull(w.$OWNER, 'background') AS $owner, w.EVENT_NAME AS event_name, w.COUNT_STAR AS total, \
                time(w.SUM_TIMER_WAIT) AS $latency, time(w.MAX_TIMER_WAIT) AS max_latency \
                from performance_schema.events_waits_summary_by_$owner_by_event_name w where w.EVENT_NAME like 'wait/io/file/%' and w.COUNT_STAR > 0 \
                order by ifnull(w.$OWNER, 'background'), w.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
];
