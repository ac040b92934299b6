//! The views of `sys` on what is used: files, memory, tables and their indexes, waits.

use super::View;

/// Those that come twice, see the floor above.
pub(super) const TWICE: &[View] = &[
    View {
        name: "io_global_by_file_by_bytes",
        columns: "file 512?,count_read uint,total_read 11?,avg_read 11?,count_write uint,total_written 11?,avg_write 11?,total \
                  11?,write_pct decimal",
        query: "select path(f.FILE_NAME) AS file, f.COUNT_READ AS count_read, size(f.SUM_NUMBER_OF_BYTES_READ) AS total_read, \
                size(ifnull(f.SUM_NUMBER_OF_BYTES_READ / nullif(f.COUNT_READ, 0), 0)) AS avg_read, f.COUNT_WRITE AS count_write, \
                size(f.SUM_NUMBER_OF_BYTES_WRITE) AS total_written, \
                size(ifnull(f.SUM_NUMBER_OF_BYTES_WRITE / nullif(f.COUNT_WRITE, 0), 0)) AS avg_write, \
                size(f.SUM_NUMBER_OF_BYTES_READ + f.SUM_NUMBER_OF_BYTES_WRITE) AS total, \
                ifnull(round(100 * f.SUM_NUMBER_OF_BYTES_WRITE / \
                nullif(f.SUM_NUMBER_OF_BYTES_READ + f.SUM_NUMBER_OF_BYTES_WRITE, 0), 2), 0) AS write_pct \
                from performance_schema.file_summary_by_instance f \
                order by f.SUM_NUMBER_OF_BYTES_READ + f.SUM_NUMBER_OF_BYTES_WRITE desc",
        mergeable: true,
    },
    View {
        name: "io_global_by_file_by_latency",
        columns: "file 512?,total uint,total_latency 11?,count_read uint,read_latency 11?,count_write uint,write_latency \
                  11?,count_misc uint,misc_latency 11?",
        query: "select path(f.FILE_NAME) AS file, f.COUNT_STAR AS total, time(f.SUM_TIMER_WAIT) AS total_latency, \
                f.COUNT_READ AS count_read, time(f.SUM_TIMER_READ) AS read_latency, f.COUNT_WRITE AS count_write, \
                time(f.SUM_TIMER_WRITE) AS write_latency, f.COUNT_MISC AS count_misc, time(f.SUM_TIMER_MISC) AS misc_latency \
                from performance_schema.file_summary_by_instance f order by f.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "io_global_by_wait_by_bytes",
        columns: "event_name 128?,total uint,total_latency 11?,min_latency 11?,avg_latency 11?,max_latency 11?,count_read \
                  uint,total_read 11?,avg_read 11?,count_write uint,total_written 11?,avg_written 11?,total_requested 11?",
        query: "select substring_index(f.EVENT_NAME, '/', -2) AS event_name, f.COUNT_STAR AS total, \
                time(f.SUM_TIMER_WAIT) AS total_latency, time(f.MIN_TIMER_WAIT) AS min_latency, \
                time(f.AVG_TIMER_WAIT) AS avg_latency, time(f.MAX_TIMER_WAIT) AS max_latency, f.COUNT_READ AS count_read, \
                size(f.SUM_NUMBER_OF_BYTES_READ) AS total_read, \
                size(ifnull(f.SUM_NUMBER_OF_BYTES_READ / nullif(f.COUNT_READ, 0), 0)) AS avg_read, f.COUNT_WRITE AS count_write, \
                size(f.SUM_NUMBER_OF_BYTES_WRITE) AS total_written, \
                size(ifnull(f.SUM_NUMBER_OF_BYTES_WRITE / nullif(f.COUNT_WRITE, 0), 0)) AS avg_written, \
                size(f.SUM_NUMBER_OF_BYTES_READ + f.SUM_NUMBER_OF_BYTES_WRITE) AS total_requested \
                from performance_schema.file_summary_by_event_name f where f.COUNT_STAR > 0 \
                order by f.SUM_NUMBER_OF_BYTES_READ + f.SUM_NUMBER_OF_BYTES_WRITE desc",
        mergeable: true,
    },
    View {
        name: "io_global_by_wait_by_latency",
        columns: "event_name 128?,total uint,total_latency 11?,avg_latency 11?,max_latency 11?,read_latency 11?,write_latency \
                  11?,misc_latency 11?,count_read uint,total_read 11?,avg_read 11?,count_write uint,total_written 11?,avg_written 11?",
        query: "select substring_index(f.EVENT_NAME, '/', -2) AS event_name, f.COUNT_STAR AS total, \
                time(f.SUM_TIMER_WAIT) AS total_latency, time(f.AVG_TIMER_WAIT) AS avg_latency, \
                time(f.MAX_TIMER_WAIT) AS max_latency, time(f.SUM_TIMER_READ) AS read_latency, \
                time(f.SUM_TIMER_WRITE) AS write_latency, time(f.SUM_TIMER_MISC) AS misc_latency, f.COUNT_READ AS count_read, \
                size(f.SUM_NUMBER_OF_BYTES_READ) AS total_read, \
                size(ifnull(f.SUM_NUMBER_OF_BYTES_READ / nullif(f.COUNT_READ, 0), 0)) AS avg_read, f.COUNT_WRITE AS count_write, \
                size(f.SUM_NUMBER_OF_BYTES_WRITE) AS total_written, \
                size(ifnull(f.SUM_NUMBER_OF_BYTES_WRITE / nullif(f.COUNT_WRITE, 0), 0)) AS avg_written \
                from performance_schema.file_summary_by_event_name f where f.COUNT_STAR > 0 order by f.SUM_TIMER_WAIT desc",
        mergeable: true,
    },
    View {
        name: "memory_global_by_current_bytes",
        columns: "event_name 128,current_count int,current_alloc 11?,current_avg_alloc 11?,high_count int,high_alloc \
                  11?,high_avg_alloc 11?",
        query: "select m.EVENT_NAME AS event_name, m.CURRENT_COUNT_USED AS current_count, \
                size(m.CURRENT_NUMBER_OF_BYTES_USED) AS current_alloc, \
                size(ifnull(m.CURRENT_NUMBER_OF_BYTES_USED / nullif(m.CURRENT_COUNT_USED, 0), 0)) AS current_avg_alloc, \
                m.HIGH_COUNT_USED AS high_count, size(m.HIGH_NUMBER_OF_BYTES_USED) AS high_alloc, \
                size(ifnull(m.HIGH_NUMBER_OF_BYTES_USED / nullif(m.HIGH_COUNT_USED, 0), 0)) AS high_avg_alloc \
                from performance_schema.memory_summary_global_by_event_name m where m.CURRENT_NUMBER_OF_BYTES_USED > 0 \
                order by m.CURRENT_NUMBER_OF_BYTES_USED desc",
        mergeable: true,
    },
    View {
        name: "memory_by_user_by_current_bytes",
        columns: "user 32b?,current_count_used decimal?,current_allocated 11?,current_avg_alloc 11?,\
                  current_max_alloc 11?,total_allocated 11?",
        query: "select ifnull(m.USER, 'background') AS user, sum(m.CURRENT_COUNT_USED) AS current_count_used, \
                size(sum(m.CURRENT_NUMBER_OF_BYTES_USED)) AS current_allocated, \
                size(ifnull(sum(m.CURRENT_NUMBER_OF_BYTES_USED) / nullif(sum(m.CURRENT_COUNT_USED), 0), 0)) AS current_avg_alloc, \
                size(max(m.CURRENT_NUMBER_OF_BYTES_USED)) AS current_max_alloc, \
                size(sum(m.SUM_NUMBER_OF_BYTES_ALLOC)) AS total_allocated \
                from performance_schema.memory_summary_by_user_by_event_name m group by ifnull(m.USER, 'background') \
                order by sum(m.CURRENT_NUMBER_OF_BYTES_USED) desc",
        mergeable: false,
    },
    View {
        name: "memory_by_host_by_current_bytes",
        columns: "host 255?,current_count_used decimal?,current_allocated 11?,current_avg_alloc 11?,current_max_alloc 11?,total_allocated 11?",
        query: "select ifnull(m.HOST, 'background') AS host, sum(m.CURRENT_COUNT_USED) AS current_count_used, \
                size(sum(m.CURRENT_NUMBER_OF_BYTES_USED)) AS current_allocated, \
                size(ifnull(sum(m.CURRENT_NUMBER_OF_BYTES_USED) / nullif(sum(m.CURRENT_COUNT_USED), 0), 0)) AS current_avg_alloc, \
                size(max(m.CURRENT_NUMBER_OF_BYTES_USED)) AS current_max_alloc, \
                size(sum(m.SUM_NUMBER_OF_BYTES_ALLOC)) AS total_allocated \
                from performance_schema.memory_summary_by_host_by_event_name m group by ifnull(m.HOST, 'background') \
                order by sum(m.CURRENT_NUMBER_OF_BYTES_USED) desc",
        mergeable: false,
    },
    View {
        name: "memory_by_thread_by_current_bytes",
        columns: "thread_id uint,user 288?,current_count_used decimal?,current_allocated 11?,current_avg_alloc 11?,current_max_alloc \
                  11?,total_allocated 11?",
        query: "select m.THREAD_ID AS thread_id, concat(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST) AS user, \
                m.CURRENT_COUNT_USED AS current_count_used, size(m.CURRENT_NUMBER_OF_BYTES_USED) AS current_allocated, \
                size(ifnull(m.CURRENT_NUMBER_OF_BYTES_USED / nullif(m.CURRENT_COUNT_USED, 0), 0)) AS current_avg_alloc, \
                size(m.CURRENT_NUMBER_OF_BYTES_USED) AS current_max_alloc, size(m.SUM_NUMBER_OF_BYTES_ALLOC) AS total_allocated \
                from performance_schema.memory_summary_by_thread_by_event_name m \
                join performance_schema.threads t on t.THREAD_ID = m.THREAD_ID order by m.CURRENT_NUMBER_OF_BYTES_USED desc",
        mergeable: true,
    },
    View {
        name: "memory_global_total",
        columns: "total_allocated 11?",
        query: "select size(sum(m.CURRENT_NUMBER_OF_BYTES_USED)) AS total_allocated \
                from performance_schema.memory_summary_global_by_event_name m",
        mergeable: false,
    },
    View {
        name: "schema_index_statistics",
        columns: "table_schema 64?,table_name 64?,index_name 64?,rows_selected uint,select_latency 11?,rows_inserted \
                  uint,insert_latency 11?,rows_updated uint,update_latency 11?,rows_deleted uint,delete_latency 11?",
        query: "select i.OBJECT_SCHEMA AS table_schema, i.OBJECT_NAME AS table_name, i.INDEX_NAME AS index_name, \
                i.COUNT_FETCH AS rows_selected, time(i.SUM_TIMER_FETCH) AS select_latency, i.COUNT_INSERT AS rows_inserted, \
                time(i.SUM_TIMER_INSERT) AS insert_latency, i.COUNT_UPDATE AS rows_updated, \
                time(i.SUM_TIMER_UPDATE) AS update_latency, i.COUNT_DELETE AS rows_deleted, \
                time(i.SUM_TIMER_DELETE) AS delete_latency from performance_schema.table_io_waits_summary_by_index_usage i \
                where i.INDEX_NAME is not null order by i.SUM_TIMER_WAIT desc, i.COUNT_STAR desc",
        mergeable: true,
    },
    View {
        name: "schema_table_statistics",
        columns: "table_schema 64?,table_name 64?,total_latency 11?,rows_fetched uint,fetch_latency 11?,rows_inserted \
                  uint,insert_latency 11?,rows_updated uint,update_latency 11?,rows_deleted uint,delete_latency \
                  11?,io_read_requests decimal?,io_read 11?,io_read_latency 11?,io_write_requests decimal?,io_write \
                  11?,io_write_latency 11?,io_misc_requests decimal?,io_misc_latency 11?",
        query: "select t.OBJECT_SCHEMA AS table_schema, t.OBJECT_NAME AS table_name, time(t.SUM_TIMER_WAIT) AS total_latency, \
                t.COUNT_FETCH AS rows_fetched, time(t.SUM_TIMER_FETCH) AS fetch_latency, t.COUNT_INSERT AS rows_inserted, \
                time(t.SUM_TIMER_INSERT) AS insert_latency, t.COUNT_UPDATE AS rows_updated, \
                time(t.SUM_TIMER_UPDATE) AS update_latency, t.COUNT_DELETE AS rows_deleted, \
                time(t.SUM_TIMER_DELETE) AS delete_latency, null AS io_read_requests, null AS io_read, null AS io_read_latency, \
                null AS io_write_requests, null AS io_write, null AS io_write_latency, null AS io_misc_requests, \
                null AS io_misc_latency from performance_schema.table_io_waits_summary_by_table t \
                order by t.SUM_TIMER_WAIT desc, t.COUNT_STAR desc",
        mergeable: true,
    },
    View {
        name: "schema_table_statistics_with_buffer",
        columns: "table_schema 64?,table_name 64?,rows_fetched uint,fetch_latency 11?,rows_inserted uint,insert_latency \
                  11?,rows_updated uint,update_latency 11?,rows_deleted uint,delete_latency 11?,io_read_requests \
                  decimal?,io_read 11?,io_read_latency 11?,io_write_requests decimal?,io_write 11?,io_write_latency \
                  11?,io_misc_requests decimal?,io_misc_latency 11?,innodb_buffer_allocated 11?,innodb_buffer_data \
                  11?,innodb_buffer_free 11?,innodb_buffer_pages int?,innodb_buffer_pages_hashed int?,innodb_buffer_pages_old \
                  int?,innodb_buffer_rows_cached decimal?",
        query: "select t.OBJECT_SCHEMA AS table_schema, t.OBJECT_NAME AS table_name, t.COUNT_FETCH AS rows_fetched, \
                time(t.SUM_TIMER_FETCH) AS fetch_latency, t.COUNT_INSERT AS rows_inserted, \
                time(t.SUM_TIMER_INSERT) AS insert_latency, t.COUNT_UPDATE AS rows_updated, \
                time(t.SUM_TIMER_UPDATE) AS update_latency, t.COUNT_DELETE AS rows_deleted, \
                time(t.SUM_TIMER_DELETE) AS delete_latency, null AS io_read_requests, null AS io_read, null AS io_read_latency, \
                null AS io_write_requests, null AS io_write, null AS io_write_latency, null AS io_misc_requests, \
                null AS io_misc_latency, size(b.allocated) AS innodb_buffer_allocated, size(b.data) AS innodb_buffer_data, \
                size(b.allocated - b.data) AS innodb_buffer_free, b.pages AS innodb_buffer_pages, \
                b.pages_hashed AS innodb_buffer_pages_hashed, b.pages_old AS innodb_buffer_pages_old, \
                b.rows_cached AS innodb_buffer_rows_cached from performance_schema.table_io_waits_summary_by_table t \
                left join sys.x$innodb_buffer_stats_by_table b on b.object_schema = t.OBJECT_SCHEMA and b.object_name = t.OBJECT_NAME \
                order by t.SUM_TIMER_WAIT desc, t.COUNT_STAR desc",
        mergeable: true,
    },
    View {
        name: "innodb_buffer_stats_by_schema",
        columns: "object_schema text?,allocated 11?,data 11?,pages int,pages_hashed int,pages_old int,rows_cached decimal?",
        query: "select if(instr(p.TABLE_NAME, '.') = 0, 'InnoDB System', replace(substring_index(p.TABLE_NAME, '.', 1), '`', '')) \
                AS object_schema, size(count(p.PAGE_NUMBER) * 16384) AS allocated, size(sum(p.DATA_SIZE)) AS data, \
                count(p.PAGE_NUMBER) AS pages, count(if(p.IS_HASHED = 'YES', 1, null)) AS pages_hashed, \
                count(if(p.IS_OLD = 'YES', 1, null)) AS pages_old, \
                round(sum(p.NUMBER_RECORDS) / count(distinct p.INDEX_NAME)) AS rows_cached \
                from information_schema.INNODB_BUFFER_PAGE p where p.TABLE_NAME is not null group by object_schema \
                order by count(p.PAGE_NUMBER) desc",
        mergeable: false,
    },
    View {
        name: "innodb_buffer_stats_by_table",
        columns: "object_schema text?,object_name text?,allocated 11?,data 11?,pages int,pages_hashed int,pages_old int,rows_cached \
                  decimal?",
        query: "select if(instr(p.TABLE_NAME, '.') = 0, 'InnoDB System', replace(substring_index(p.TABLE_NAME, '.', 1), '`', '')) \
                AS object_schema, replace(substring_index(p.TABLE_NAME, '.', -1), '`', '') AS object_name, \
                size(count(p.PAGE_NUMBER) * 16384) AS allocated, size(sum(p.DATA_SIZE)) AS data, \
                count(p.PAGE_NUMBER) AS pages, count(if(p.IS_HASHED = 'YES', 1, null)) AS pages_hashed, \
                count(if(p.IS_OLD = 'YES', 1, null)) AS pages_old, \
                round(sum(p.NUMBER_RECORDS) / count(distinct p.INDEX_NAME)) AS rows_cached \
                from information_schema.INNODB_BUFFER_PAGE p where p.TABLE_NAME is not null group by object_schema, object_name \
                order by count(p.PAGE_NUMBER) desc",
        mergeable: false,
    },
    View {
        name: "latest_file_io",
        columns: "thread 317?,file 512?,latency 11?,operation 32,requested 11?",
        query: "select if(t.PROCESSLIST_ID is null, concat(substring_index(t.NAME, '/', -1), ':', w.THREAD_ID), \
                concat(t.PROCESSLIST_USER, '@', t.PROCESSLIST_HOST, ':', t.PROCESSLIST_ID)) AS thread, \
                path((select if(count(0) = 1, max(f.FILE_NAME), null) from performance_schema.file_instances f \
                where f.EVENT_NAME = w.EVENT_NAME)) AS file, time(w.TIMER_WAIT) AS latency, w.OPERATION AS operation, \
                size(w.NUMBER_OF_BYTES) AS requested from performance_schema.events_waits_history_long w \
                join performance_schema.threads t on t.THREAD_ID = w.THREAD_ID where w.EVENT_NAME like 'wait/io/file/%' \
                order by w.TIMER_START",
        mergeable: true,
    },
    View {
        name: "schema_tables_with_full_table_scans",
        columns: "object_schema 64?,object_name 64?,rows_full_scanned uint,latency 11?",
        query: "select i.OBJECT_SCHEMA AS object_schema, i.OBJECT_NAME AS object_name, i.COUNT_READ AS rows_full_scanned, \
                time(i.SUM_TIMER_WAIT) AS latency from performance_schema.table_io_waits_summary_by_index_usage i \
                where i.INDEX_NAME is null and i.COUNT_READ > 0 order by i.COUNT_READ desc",
        mergeable: true,
    },
    View {
        name: "wait_classes_global_by_latency",
        columns: "event_class 128?,total decimal?,total_latency 11?,min_latency 11?,avg_latency 11?,max_latency 11?",
        query: "select substring_index(w.EVENT_NAME, '/', 3) AS event_class, sum(w.COUNT_STAR) AS total, \
                time(sum(w.SUM_TIMER_WAIT)) AS total_latency, time(min(w.MIN_TIMER_WAIT)) AS min_latency, \
                time(ifnull(sum(w.SUM_TIMER_WAIT) / nullif(sum(w.COUNT_STAR), 0), 0)) AS avg_latency, \
                time(max(w.MAX_TIMER_WAIT)) AS max_latency from performance_schema.events_waits_summary_global_by_event_name w \
                where w.SUM_TIMER_WAIT > 0 and w.EVENT_NAME <> 'idle' group by substring_index(w.EVENT_NAME, '/', 3) \
                order by sum(w.SUM_TIMER_WAIT) desc",
        mergeable: false,
    },
    View {
        name: "wait_classes_global_by_avg_latency",
        columns: "event_class 128?,total decimal?,total_latency 11?,min_latency 11?,avg_latency 11?,max_latency 11?",
        query: "select substring_index(w.EVENT_NAME, '/', 3) AS event_class, sum(w.COUNT_STAR) AS total, \
                time(sum(w.SUM_TIMER_WAIT)) AS total_latency, time(min(w.MIN_TIMER_WAIT)) AS min_latency, \
                time(ifnull(sum(w.SUM_TIMER_WAIT) / nullif(sum(w.COUNT_STAR), 0), 0)) AS avg_latency, \
                time(max(w.MAX_TIMER_WAIT)) AS max_latency from performance_schema.events_waits_summary_global_by_event_name w \
                where w.SUM_TIMER_WAIT > 0 and w.EVENT_NAME <> 'idle' group by substring_index(w.EVENT_NAME, '/', 3) \
                order by ifnull(sum(w.SUM_TIMER_WAIT) / nullif(sum(w.COUNT_STAR), 0), 0) desc",
        mergeable: false,
    },
    View {
        name: "waits_global_by_latency",
        columns: "events 128,total uint,total_latency 11?,avg_latency 11?,max_latency 11?",
        query: "select w.EVENT_NAME AS events, w.COUNT_STAR AS total, time(w.SUM_TIMER_WAIT) AS total_latency, \
                time(w.AVG_TIMER_WAIT) AS avg_latency, time(w.MAX_TIMER_WAIT) AS max_latency \
                from performance_schema.events_waits_summary_global_by_event_name w \
                where w.EVENT_NAME <> 'idle' and w.SUM_TIMER_WAIT > 0 order by w.SUM_TIMER_WAIT desc",
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

/// Those without a form of plain numbers.
pub(super) const ONCE: &[View] = &[
    View {
        name: "schema_auto_increment_columns",
        columns: "table_schema 64n,table_name 64n,column_name 64l?,data_type textn?,column_type textn,is_signed int,\
                  is_unsigned int,max_value uint?,auto_increment uint?,auto_increment_ratio decimal?",
        query: "select m.TABLE_SCHEMA AS table_schema, m.TABLE_NAME AS table_name, m.COLUMN_NAME AS column_name, \
                m.DATA_TYPE AS data_type, m.COLUMN_TYPE AS column_type, m.is_signed AS is_signed, \
                1 - m.is_signed AS is_unsigned, m.most >> m.is_signed AS max_value, m.AUTO_INCREMENT AS auto_increment, \
                m.AUTO_INCREMENT / (m.most >> m.is_signed) AS auto_increment_ratio \
                from (select c.TABLE_SCHEMA, c.TABLE_NAME, c.COLUMN_NAME, c.DATA_TYPE, c.COLUMN_TYPE, t.AUTO_INCREMENT, \
                if(locate('unsigned', c.COLUMN_TYPE) > 0, 0, 1) AS is_signed, case c.DATA_TYPE when 'tinyint' then 255 \
                when 'smallint' then 65535 when 'mediumint' then 16777215 when 'int' then 4294967295 \
                when 'bigint' then 18446744073709551615 end AS most from information_schema.COLUMNS c \
                join information_schema.TABLES t on t.TABLE_SCHEMA = c.TABLE_SCHEMA and t.TABLE_NAME = c.TABLE_NAME \
                where c.EXTRA = 'auto_increment' \
                and c.TABLE_SCHEMA not in ('mysql', 'sys', 'information_schema', 'performance_schema')) m \
                order by m.AUTO_INCREMENT / (m.most >> m.is_signed) desc, m.most >> m.is_signed",
        mergeable: true,
    },
    View {
        name: "schema_object_overview",
        columns: "db 64n,object_type 19n?,count int",
        query: "select r.ROUTINE_SCHEMA AS db, r.ROUTINE_TYPE AS object_type, count(0) AS count \
                from information_schema.ROUTINES r group by r.ROUTINE_SCHEMA, r.ROUTINE_TYPE union all \
                select t.TABLE_SCHEMA, t.TABLE_TYPE, count(0) from information_schema.TABLES t \
                group by t.TABLE_SCHEMA, t.TABLE_TYPE union all \
                select s.TABLE_SCHEMA, concat('INDEX (', s.INDEX_TYPE, ')'), count(0) from information_schema.STATISTICS s \
                group by s.TABLE_SCHEMA, s.INDEX_TYPE union all \
                select g.TRIGGER_SCHEMA, 'TRIGGER', count(0) from information_schema.TRIGGERS g group by g.TRIGGER_SCHEMA \
                union all select e.EVENT_SCHEMA, 'EVENT', count(0) from information_schema.EVENTS e group by e.EVENT_SCHEMA \
                order by db, object_type",
        mergeable: false,
    },
    View {
        name: "x$schema_flattened_keys",
        columns: "table_schema 64n,table_name 64n,index_name 64l?,non_unique int?,subpart_exists int?,\
                  index_columns textl?",
        query: "select s.TABLE_SCHEMA AS table_schema, s.TABLE_NAME AS table_name, s.INDEX_NAME AS index_name, \
                max(s.NON_UNIQUE) AS non_unique, max(if(s.SUB_PART is null, 0, 1)) AS subpart_exists, \
                group_concat(s.COLUMN_NAME order by s.SEQ_IN_INDEX separator ',') AS index_columns \
                from information_schema.STATISTICS s where s.INDEX_TYPE = 'BTREE' \
                and s.TABLE_SCHEMA not in ('mysql', 'sys', 'information_schema', 'performance_schema') \
                group by s.TABLE_SCHEMA, s.TABLE_NAME, s.INDEX_NAME",
        mergeable: false,
    },
    View {
        name: "schema_redundant_indexes",
        columns: "table_schema 64n,table_name 64n,redundant_index_name 64l?,redundant_index_columns textl?,\
                  redundant_index_non_unique int?,dominant_index_name 64l?,dominant_index_columns textl?,\
                  dominant_index_non_unique int?,subpart_exists int,sql_drop_index 223l?",
        query: "select r.table_schema AS table_schema, r.table_name AS table_name, r.index_name AS redundant_index_name, \
                r.index_columns AS redundant_index_columns, r.non_unique AS redundant_index_non_unique, \
                d.index_name AS dominant_index_name, d.index_columns AS dominant_index_columns, \
                d.non_unique AS dominant_index_non_unique, if(r.subpart_exists or d.subpart_exists, 1, 0) AS subpart_exists, \
                concat('ALTER TABLE `', r.table_schema, '`.`', r.table_name, '` DROP INDEX `', r.index_name, '`') AS sql_drop_index \
                from sys.x$schema_flattened_keys r join sys.x$schema_flattened_keys d \
                on r.table_schema = d.table_schema and r.table_name = d.table_name where r.index_name <> d.index_name and \
                ((r.index_columns = d.index_columns and (r.non_unique > d.non_unique or (r.non_unique = d.non_unique and \
                if(r.index_name = 'PRIMARY', '', r.index_name) > if(d.index_name = 'PRIMARY', '', d.index_name)))) \
                or (locate(concat(r.index_columns, ','), d.index_columns) = 1 and r.non_unique = 1) \
                or (locate(concat(d.index_columns, ','), r.index_columns) = 1 and d.non_unique = 0))",
        mergeable: true,
    },
    View {
        name: "schema_unused_indexes",
        columns: "object_schema 64?,object_name 64?,index_name 64?",
        query: "select i.OBJECT_SCHEMA AS object_schema, i.OBJECT_NAME AS object_name, i.INDEX_NAME AS index_name \
                from performance_schema.table_io_waits_summary_by_index_usage i join information_schema.STATISTICS s \
                on s.TABLE_SCHEMA = i.OBJECT_SCHEMA and s.TABLE_NAME = i.OBJECT_NAME and s.INDEX_NAME = i.INDEX_NAME \
                where i.COUNT_STAR = 0 and i.INDEX_NAME <> 'PRIMARY' and s.NON_UNIQUE = 1 and s.SEQ_IN_INDEX = 1 \
                order by i.OBJECT_SCHEMA, i.OBJECT_NAME",
        mergeable: true,
    },
    View {
        name: "x$ps_schema_table_statistics_io",
        columns: "table_schema 64?,table_name 64?,count_read decimal?,sum_number_of_bytes_read decimal?,sum_timer_read \
                  decimal?,count_write decimal?,sum_number_of_bytes_write decimal?,sum_timer_write decimal?,count_misc \
                  decimal?,sum_timer_misc decimal?",
        query: "select f.table_schema AS table_schema, f.table_name AS table_name, sum(f.COUNT_READ) AS count_read, \
                sum(f.SUM_NUMBER_OF_BYTES_READ) AS sum_number_of_bytes_read, sum(f.SUM_TIMER_READ) AS sum_timer_read, \
                sum(f.COUNT_WRITE) AS count_write, sum(f.SUM_NUMBER_OF_BYTES_WRITE) AS sum_number_of_bytes_write, \
                sum(f.SUM_TIMER_WRITE) AS sum_timer_write, sum(f.COUNT_MISC) AS count_misc, \
                sum(f.SUM_TIMER_MISC) AS sum_timer_misc from (select i.*, \
                sys.extract_schema_from_file_name(i.FILE_NAME) AS table_schema, \
                sys.extract_table_from_file_name(i.FILE_NAME) AS table_name \
                from performance_schema.file_summary_by_instance i) f group by f.table_schema, f.table_name",
        mergeable: false,
    },
    View {
        name: "ps_check_lost_instrumentation",
        columns: "variable_name 64,variable_value 1024?",
        query: "select g.VARIABLE_NAME AS variable_name, g.VARIABLE_VALUE AS variable_value \
                from performance_schema.global_status g where g.VARIABLE_NAME like 'Performance_schema%lost' \
                and g.VARIABLE_VALUE > 0",
        mergeable: true,
    },
];
