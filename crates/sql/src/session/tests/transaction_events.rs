//! The event of a transaction that was one statement belongs to that statement, whatever follows it.

use super::{World, ok};

#[test]
fn a_transaction_is_its_own_statements_in_a_text_of_several() {
    let world = World::new("transaction-events");
    let mut s = world.session();
    ok(&mut s, "CREATE TABLE t (id INT PRIMARY KEY)");
    ok(&mut s, "PREPARE p FROM 'INSERT INTO t VALUES (3)'");
    let texts = [
        "INSERT INTO t VALUES (1); SELECT 7",
        "INSERT INTO t VALUES (2); INSERT INTO t VALUES (4)",
        "EXECUTE p",
        "SELECT 8; DELETE FROM t",
    ];
    for text in texts {
        ok(&mut s, "TRUNCATE performance_schema.events_transactions_history");
        ok(&mut s, text);
        let shown = ok(
            &mut s,
            "SELECT s.SQL_TEXT, t.EVENT_ID - s.EVENT_ID, t.TIMER_START = s.TIMER_START, t.TIMER_WAIT = s.TIMER_WAIT, s.NESTING_EVENT_ID \
             FROM performance_schema.events_transactions_history t LEFT JOIN performance_schema.events_statements_history s \
             ON s.THREAD_ID = t.THREAD_ID AND s.EVENT_ID = t.NESTING_EVENT_ID \
             WHERE t.THREAD_ID = PS_CURRENT_THREAD_ID() ORDER BY t.EVENT_ID",
        );
        let stored = |statement: &&str| !statement.contains("SELECT");
        let named = text.split("; ").filter(stored).map(|statement| match statement {
            "EXECUTE p" => "INSERT INTO t VALUES (3)",
            other => other,
        });
        let expected: Vec<String> = named.map(|statement| format!("{statement}|1|1|1|NULL")).collect();
        assert_eq!(shown, expected, "{text}");
    }
}
