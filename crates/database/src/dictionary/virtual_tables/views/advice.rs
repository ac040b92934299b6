//! `sys.tidemark_advice`: what the server's own figures suggest to look at, each with the finding, what may help, and, where one does, the
//! statement that does it. Read it as a list of questions: whoever asks knows what the figures do not.

use super::View;

/// One row for each finding.
pub(super) const ADVICE: View = View {
    name: "tidemark_advice",
    columns: "subject 32,object 512?,finding text?,advice text,statement text?",
    query: "select 'snapshot' AS subject, concat('connection ', h.pid) AS object, \
            concat('is ', h.age_secs, ' s old and keeps ', h.versions, ' old versions, ', h.bytes, ' bytes; opened by: ', \
            ifnull(h.opened_by, '?')) AS finding, \
            'end the transaction, or read in shorter ones' AS advice, concat('KILL ', h.pid) AS statement \
            from sys.tidemark_history h where h.reason = 'read view' and h.age_secs >= 60 union all \
            select 'row lock', concat('connection ', w.blocking_pid), \
            concat('connection ', w.waiting_pid, ' waits since ', w.wait_age_secs, ' s for ', w.locked_table, ' ', w.locked_index), \
            'commit sooner', w.sql_kill_blocking_connection from sys.innodb_lock_waits w where w.wait_age_secs >= 10 union all \
            select 'redundant index', concat(r.table_schema, '.', r.table_name), \
            concat(r.redundant_index_name, ' (', r.redundant_index_columns, ') adds nothing to ', r.dominant_index_name, ' (', \
            r.dominant_index_columns, ')'), 'drop it: each write pays for it', r.sql_drop_index \
            from sys.schema_redundant_indexes r union all \
            select 'primary key', concat(t.TABLE_SCHEMA, '.', t.TABLE_NAME), if(t.TABLE_ROWS > 0, concat('about ', t.TABLE_ROWS, ' rows have none'), 'it has none, and no rows yet'), \
            'add one: rows are kept in the order of a hidden number that no query can use', null \
            from information_schema.TABLES t left join information_schema.STATISTICS s on s.TABLE_SCHEMA = t.TABLE_SCHEMA \
            and s.TABLE_NAME = t.TABLE_NAME and s.INDEX_NAME = 'PRIMARY' where t.TABLE_TYPE = 'BASE TABLE' and t.ENGINE = 'InnoDB' \
            and t.TABLE_SCHEMA not in ('mysql', 'sys', 'information_schema', 'performance_schema') and s.INDEX_NAME is null union all \
            select 'full scan', d.SCHEMA_NAME, concat('reads ', round(d.SUM_ROWS_EXAMINED / d.COUNT_STAR), ' rows to send ', \
            round(d.SUM_ROWS_SENT / d.COUNT_STAR), ', ', d.COUNT_STAR, ' times: ', d.DIGEST_TEXT), \
            'an index on the columns of its conditions', null from performance_schema.events_statements_summary_by_digest d \
            where d.SUM_NO_INDEX_USED > 0 and d.COUNT_STAR >= 10 and d.SUM_ROWS_EXAMINED > 1000 * d.COUNT_STAR \
            and d.SUM_ROWS_EXAMINED > 100 * d.SUM_ROWS_SENT and d.DIGEST_TEXT like 'SELECT%' union all \
            select 'buffer pool', 'innodb_buffer_pool_size', concat(m.misses, ' of ', m.requests, ' pages that were asked for came from the disk'), \
            'more memory for the pool, or queries that touch fewer pages', null \
            from (select max(if(g.VARIABLE_NAME = 'Innodb_buffer_pool_reads', g.VARIABLE_VALUE + 0, 0)) AS misses, \
            max(if(g.VARIABLE_NAME = 'Innodb_buffer_pool_read_requests', g.VARIABLE_VALUE + 0, 0)) AS requests \
            from performance_schema.global_status g) m where m.misses > 10000 and m.misses > 0.02 * m.requests union all \
            select 'log buffer', 'innodb_log_buffer_size', concat('writers have waited for room ', g.VARIABLE_VALUE, ' times'), \
            'a larger one', null from performance_schema.global_status g \
            where g.VARIABLE_NAME = 'Innodb_log_waits' and g.VARIABLE_VALUE > 100 union all \
            select 'sorts', 'sort_buffer_size', concat(g.VARIABLE_VALUE, ' passes over rows that did not fit'), \
            'a larger one for the sessions that sort, or an index in the order that is asked for', null \
            from performance_schema.global_status g where g.VARIABLE_NAME = 'Sort_merge_passes' and g.VARIABLE_VALUE > 100",
    mergeable: false,
};
