//! The views of `sys` that are queries of `performance_schema`: they are views like those that users make, planned into the
//! statement that names them, with the rights of whoever asks.
//!
//! Most come twice, as in MySQL: with times, sizes and long texts made short to read, and under a name that begins with `x$` with the
//! plain numbers. A query is written once; in it `time(…)`, `size(…)`, `path(…)` and `short(…)` stand for what is made short, and what is in
//! braces is of the second form alone.

mod advice;
mod owners;
mod sessions;
mod usage;

use crate::parse::ast::{CheckOption, ViewAlgorithm};
use crate::types::Collation;

use super::super::ViewDef;

/// A view: its name, its columns (see [`define`](super::define)), its query.
struct View<Text = &'static str> {
    name: Text,
    columns: Text,
    query: Text,
    /// It can join the tables of a statement: nothing in it is grouped or put together.
    mergeable: bool,
}

impl View {
    /// The same with other texts.
    fn map(&self, text: impl Fn(&str) -> String) -> View<String> {
        View {
            name: text(self.name),
            columns: text(self.columns),
            query: text(self.query),
            mergeable: self.mergeable,
        }
    }
}

/// The database of all of them.
pub(super) const SCHEMA: &str = "sys";

const VIEWS: &[View] = &[
    View {
        name: "statement_analysis",
        columns: "query text?,db 64?,full_scan 1,exec_count uint,{exec_secondary_count uint,}err_count uint,warn_count uint,total_latency 11?,max_latency \
                  11?,avg_latency 11?,lock_latency 11?,cpu_latency 11?,rows_sent uint,rows_sent_avg decimal,rows_examined \
                  uint,rows_examined_avg decimal,rows_affected uint,rows_affected_avg decimal,tmp_tables uint,tmp_disk_tables \
                  uint,rows_sorted uint,sort_merge_passes uint,max_controlled_memory 11?,max_total_memory 11?,digest \
                  64?,first_seen time6,last_seen time6",
        query: "select short(s.DIGEST_TEXT) AS query, s.SCHEMA_NAME AS db, if(s.SUM_NO_INDEX_USED > 0, '*', '') AS full_scan, \
                s.COUNT_STAR AS exec_count, {s.COUNT_SECONDARY AS exec_secondary_count, }s.SUM_ERRORS AS err_count, s.SUM_WARNINGS AS warn_count, \
                time(s.SUM_TIMER_WAIT) AS total_latency, time(s.MAX_TIMER_WAIT) AS max_latency, \
                time(s.AVG_TIMER_WAIT) AS avg_latency, time(s.SUM_LOCK_TIME) AS lock_latency, \
                time(s.SUM_CPU_TIME) AS cpu_latency, s.SUM_ROWS_SENT AS rows_sent, \
                round(s.SUM_ROWS_SENT / s.COUNT_STAR) AS rows_sent_avg, s.SUM_ROWS_EXAMINED AS rows_examined, \
                round(s.SUM_ROWS_EXAMINED / s.COUNT_STAR) AS rows_examined_avg, s.SUM_ROWS_AFFECTED AS rows_affected, \
                round(s.SUM_ROWS_AFFECTED / s.COUNT_STAR) AS rows_affected_avg, s.SUM_CREATED_TMP_TABLES AS tmp_tables, \
                s.SUM_CREATED_TMP_DISK_TABLES AS tmp_disk_tables, s.SUM_SORT_ROWS AS rows_sorted, \
                s.SUM_SORT_MERGE_PASSES AS sort_merge_passes, size(s.MAX_CONTROLLED_MEMORY) AS max_controlled_memory, \
                size(s.MAX_TOTAL_MEMORY) AS max_total_memory, s.DIGEST AS digest, s.FIRST_SEEN AS first_seen, \
                s.LAST_SEEN AS last_seen from performance_schema.events_statements_summary_by_digest s \
                order by s.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "statements_with_full_table_scans",
        columns: "query text?,db 64?,exec_count uint,total_latency 11?,no_index_used_count uint,no_good_index_used_count \
                  uint,no_index_used_pct decimal,rows_sent uint,rows_examined uint,rows_sent_avg decimal?,rows_examined_avg \
                  decimal?,first_seen time6,last_seen time6,digest 64?",
        query: "select short(s.DIGEST_TEXT) AS query, s.SCHEMA_NAME AS db, s.COUNT_STAR AS exec_count, \
                time(s.SUM_TIMER_WAIT) AS total_latency, s.SUM_NO_INDEX_USED AS no_index_used_count, \
                s.SUM_NO_GOOD_INDEX_USED AS no_good_index_used_count, \
                round(100 * s.SUM_NO_INDEX_USED / s.COUNT_STAR) AS no_index_used_pct, s.SUM_ROWS_SENT AS rows_sent, \
                s.SUM_ROWS_EXAMINED AS rows_examined, round(s.SUM_ROWS_SENT / s.COUNT_STAR) AS rows_sent_avg, \
                round(s.SUM_ROWS_EXAMINED / s.COUNT_STAR) AS rows_examined_avg, s.FIRST_SEEN AS first_seen, \
                s.LAST_SEEN AS last_seen, s.DIGEST AS digest from performance_schema.events_statements_summary_by_digest s \
                where s.SUM_NO_INDEX_USED > 0 and s.DIGEST_TEXT not like 'SHOW%' \
                order by round(100 * s.SUM_NO_INDEX_USED / s.COUNT_STAR) desc, s.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "statements_with_sorting",
        columns: "query text?,db 64?,exec_count uint,total_latency 11?,sort_merge_passes uint,avg_sort_merges \
                  decimal,sorts_using_scans uint,sort_using_range uint,rows_sorted uint,avg_rows_sorted decimal,first_seen \
                  time6,last_seen time6,digest 64?",
        query: "select short(s.DIGEST_TEXT) AS query, s.SCHEMA_NAME AS db, s.COUNT_STAR AS exec_count, \
                time(s.SUM_TIMER_WAIT) AS total_latency, s.SUM_SORT_MERGE_PASSES AS sort_merge_passes, \
                round(s.SUM_SORT_MERGE_PASSES / s.COUNT_STAR) AS avg_sort_merges, s.SUM_SORT_SCAN AS sorts_using_scans, \
                s.SUM_SORT_RANGE AS sort_using_range, s.SUM_SORT_ROWS AS rows_sorted, \
                round(s.SUM_SORT_ROWS / s.COUNT_STAR) AS avg_rows_sorted, s.FIRST_SEEN AS first_seen, s.LAST_SEEN AS last_seen, \
                s.DIGEST AS digest from performance_schema.events_statements_summary_by_digest s where s.SUM_SORT_ROWS > 0 \
                order by s.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "statements_with_temp_tables",
        columns: "query text?,db 64?,exec_count uint,total_latency 11?,memory_tmp_tables uint,disk_tmp_tables \
                  uint,avg_tmp_tables_per_query decimal,tmp_tables_to_disk_pct decimal,first_seen time6,last_seen time6,digest 64?",
        query: "select short(s.DIGEST_TEXT) AS query, s.SCHEMA_NAME AS db, s.COUNT_STAR AS exec_count, \
                time(s.SUM_TIMER_WAIT) AS total_latency, s.SUM_CREATED_TMP_TABLES AS memory_tmp_tables, \
                s.SUM_CREATED_TMP_DISK_TABLES AS disk_tmp_tables, \
                round(s.SUM_CREATED_TMP_TABLES / s.COUNT_STAR) AS avg_tmp_tables_per_query, \
                round(100 * s.SUM_CREATED_TMP_DISK_TABLES / s.SUM_CREATED_TMP_TABLES) AS tmp_tables_to_disk_pct, \
                s.FIRST_SEEN AS first_seen, s.LAST_SEEN AS last_seen, s.DIGEST AS digest \
                from performance_schema.events_statements_summary_by_digest s where s.SUM_CREATED_TMP_TABLES > 0 \
                order by s.SUM_CREATED_TMP_DISK_TABLES desc, s.SUM_CREATED_TMP_TABLES desc",
        mergeable: true,
    },
    View {
        name: "statements_with_errors_or_warnings",
        columns: "query text?,db 64?,exec_count uint,errors uint,error_pct decimal,warnings uint,warning_pct decimal,first_seen \
                  time6,last_seen time6,digest 64?",
        query: "select short(s.DIGEST_TEXT) AS query, s.SCHEMA_NAME AS db, s.COUNT_STAR AS exec_count, s.SUM_ERRORS AS errors, \
                s.SUM_ERRORS / s.COUNT_STAR * 100 AS error_pct, s.SUM_WARNINGS AS warnings, \
                s.SUM_WARNINGS / s.COUNT_STAR * 100 AS warning_pct, s.FIRST_SEEN AS first_seen, s.LAST_SEEN AS last_seen, \
                s.DIGEST AS digest from performance_schema.events_statements_summary_by_digest s \
                where s.SUM_ERRORS > 0 or s.SUM_WARNINGS > 0 order by s.SUM_ERRORS desc, s.SUM_WARNINGS desc",
        mergeable: true,
    },
    View {
        name: "statements_with_runtimes_in_95th_percentile",
        columns: "query text?,db 64?,full_scan 1,exec_count uint,err_count uint,warn_count uint,total_latency 11?,max_latency \
                  11?,avg_latency 11?,rows_sent uint,rows_sent_avg decimal,rows_examined uint,rows_examined_avg \
                  decimal,first_seen time6,last_seen time6,digest 64?",
        query: "select short(s.DIGEST_TEXT) AS query, s.SCHEMA_NAME AS db, if(s.SUM_NO_INDEX_USED > 0, '*', '') AS full_scan, \
                s.COUNT_STAR AS exec_count, s.SUM_ERRORS AS err_count, s.SUM_WARNINGS AS warn_count, \
                time(s.SUM_TIMER_WAIT) AS total_latency, time(s.MAX_TIMER_WAIT) AS max_latency, \
                time(s.AVG_TIMER_WAIT) AS avg_latency, s.SUM_ROWS_SENT AS rows_sent, \
                round(s.SUM_ROWS_SENT / s.COUNT_STAR) AS rows_sent_avg, s.SUM_ROWS_EXAMINED AS rows_examined, \
                round(s.SUM_ROWS_EXAMINED / s.COUNT_STAR) AS rows_examined_avg, s.FIRST_SEEN AS first_seen, \
                s.LAST_SEEN AS last_seen, s.DIGEST AS digest \
                from (select d.*, percent_rank() over (order by d.AVG_TIMER_WAIT) AS share \
                from performance_schema.events_statements_summary_by_digest d) s where s.share >= 0.95 \
                order by s.AVG_TIMER_WAIT desc",
        mergeable: true,
    },
];

/// Views without a form of plain numbers.
const PLAIN: &[View] = &[
    View {
        name: "metrics",
        columns: "Variable_name 193,Variable_value text?,Type 210,Enabled 7",
        query: "select lower(g.VARIABLE_NAME) AS Variable_name, g.VARIABLE_VALUE AS Variable_value, 'Global Status' AS Type, \
                'YES' AS Enabled from performance_schema.global_status g union all select m.NAME AS Variable_name, \
                m.COUNT AS Variable_value, concat('InnoDB Metrics - ', m.SUBSYSTEM) AS Type, \
                if(m.STATUS = 'enabled', 'YES', 'NO') AS Enabled from information_schema.INNODB_METRICS m union all \
                select 'NOW()' AS Variable_name, now(3) AS Variable_value, 'System Time' AS Type, 'YES' AS Enabled union all \
                select 'UNIX_TIMESTAMP()' AS Variable_name, round(unix_timestamp(now(3)), 3) AS Variable_value, \
                'System Time' AS Type, 'YES' AS Enabled order by Type, Variable_name",
        mergeable: false,
    },
    View {
        name: "version",
        columns: "sys_version 5,mysql_version 64",
        query: "select '2.1.3' AS sys_version, version() AS mysql_version",
        mergeable: true,
    },
];

/// All views: name, columns, definition.
pub(super) fn all() -> impl Iterator<Item = (String, String, ViewDef)> {
    let copy = |view: &View| view.map(str::to_owned);
    let twice = VIEWS.iter().chain(usage::TWICE).chain(sessions::TWICE);
    let twice = twice.map(copy).chain(owners::all());
    let once = PLAIN
        .iter()
        .chain(usage::ONCE)
        .chain(sessions::ONCE)
        .chain([&advice::ADVICE]);
    let short = twice.clone().map(|view| (view, false));
    let plain = twice.map(|view| View {
        name: format!("x${}", view.name),
        ..view
    });
    let plain = plain.chain(once.map(copy)).map(|view| (view, true));
    short.chain(plain).map(|(view, plain)| {
        let (columns, def) = (braces(&view.columns, plain), define(&view, plain));
        (view.name, columns, def)
    })
}

fn define(view: &View<String>, plain: bool) -> ViewDef {
    ViewDef {
        text: expand(&view.query, plain),
        names: Vec::new(),
        algorithm: ViewAlgorithm::Undefined,
        definer: ("mysql.sys".to_owned(), "localhost".to_owned()),
        invoker: true,
        check: CheckOption::None,
        valid: true,
        mergeable: view.mergeable,
        updatable: false,
        collation: Collation::UTF8MB3_GENERAL_CI,
        client: Collation::UTF8MB3_GENERAL_CI,
        tables: Vec::new(),
    }
}

/// A text with what is in braces, or without it.
fn braces(text: &str, keep: bool) -> String {
    let mut kept = String::new();
    for part in text.split('}') {
        let (outside, inside) = part.split_once('{').unwrap_or((part, ""));
        kept.push_str(outside);
        if keep {
            kept.push_str(inside);
        }
    }
    kept
}

/// The query with `time(…)`, `size(…)`, `path(…)` and `short(…)` written out.
fn expand(query: &str, plain: bool) -> String {
    let query = braces(query, plain);
    if plain {
        return query
            .replace("time(", "(")
            .replace("size(", "(")
            .replace("path(", "(")
            .replace("short(", "(");
    }
    let mut text = query
        .replace("time(", "format_pico_time(")
        .replace("size(", "format_bytes(")
        .replace("path(", "sys.format_path(");
    while let Some(at) = text.find("short(") {
        let from = at + "short(".len();
        let Some(len) = text[from..].find(')') else {
            break;
        };
        let column = &text[from..from + len];
        let made = format!(
            "if(char_length({column}) > 64, concat(left({column}, 30), ' ... ', right({column}, 30)), {column})"
        );
        text.replace_range(at..=from + len, &made);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::ast::QueryBody;

    #[test]
    fn texts_are_queries_of_as_many_columns_as_are_listed() {
        for (name, columns, view) in all() {
            let query = crate::parse::parse_query(&view.text).unwrap_or_else(|e| panic!("{name}: {e}"));
            if let QueryBody::Select(select) = &query.body {
                assert_eq!(select.items.len(), columns.split(',').count(), "{name}");
            }
            assert!(!view.text.contains("short("), "{name}");
        }
    }
}
