//! What the engine does by itself is shown among the sessions; and what of its background work can be set outlives a restart.

use super::{World, ok};
use crate::monitor::work::note;
use tidemark_engine::{LongWork, WorkProgress};

#[test]
fn long_work_of_the_engine_is_shown_as_a_stage() {
    let world = World::new("work");
    let mut s = world.session();
    ok(&mut s, "CREATE USER other");
    ok(
        &mut s,
        "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME LIKE 'events_stages%'",
    );
    let (work, of) = (LongWork::Freeing, 200);
    note(world.database(), Some(WorkProgress { work, done: 0, of }));
    note(world.database(), Some(WorkProgress { work, done: 50, of }));
    let list = |s: &mut _| ok(s, "SHOW PROCESSLIST");
    let row = "1|system user||NULL|Daemon|0|Freeing dropped tables: 25%|NULL";
    assert_eq!(list(&mut s).iter().filter(|line| *line == row).count(), 1);
    let mut other = world.connect("other", None);
    assert_eq!(list(&mut other).len(), 1, "other accounts see their own sessions");
    let current = "SELECT EVENT_NAME, WORK_COMPLETED, WORK_ESTIMATED, END_EVENT_ID IS NULL, t.NAME, t.TYPE \
                   FROM performance_schema.events_stages_current s JOIN performance_schema.threads t USING (THREAD_ID) \
                   WHERE s.THREAD_ID = 1";
    let stage = "stage/innodb/purge (dropped tables)";
    let thread = "thread/innodb/srv_purge_thread|BACKGROUND";
    assert_eq!(ok(&mut s, current), [format!("{stage}|50|200|1|{thread}")]);

    note(world.database(), None);
    assert_eq!(
        list(&mut s).iter().filter(|line| line.contains("Daemon")).count(),
        0
    );
    let history =
        "SELECT EVENT_NAME, WORK_COMPLETED FROM performance_schema.events_stages_history WHERE THREAD_ID = 1";
    assert_eq!(ok(&mut s, history), [format!("{stage}|50")]);
    let work = LongWork::Sweeping;
    note(world.database(), Some(WorkProgress { work, done: 1, of: 4 }));
    note(world.database(), None);
    let sums = "SELECT EVENT_NAME FROM performance_schema.events_stages_summary_global_by_event_name \
                WHERE COUNT_STAR = 1 AND SUM_TIMER_WAIT > 0 AND EVENT_NAME LIKE 'stage/innodb/%'";
    assert_eq!(ok(&mut s, sums), [stage, "stage/innodb/recovery (deleted rows)"]);
}

#[test]
fn what_is_persisted_is_what_the_engine_does() {
    let mut world = World::new("persisted");
    let mut s = world.session();
    ok(&mut s, "SET PERSIST innodb_flush_log_at_trx_commit = 0");
    drop(s);
    world.restart();
    let mut s = world.session();
    ok(&mut s, "CREATE TABLE t (a INT PRIMARY KEY)");
    let syncs = || world.database().engine().status().log_syncs;
    let before = syncs();
    for n in 0..100 {
        ok(&mut s, &format!("INSERT INTO t VALUES ({n})"));
    }
    let grown = syncs() - before;
    assert!(grown < 50, "{grown} syncs for 100 commits that wait for none");
}
