//! Columns that come and go beside the rows: how often, and what is left of them.

use super::{World, ok, run};

/// What 255 changes leave is read; the next makes the table anew, unless that is ruled out.
#[test]
fn columns_come_and_go_so_often_before_the_table_is_made_anew() {
    let world = World::new("columns_at_once");
    let mut s = world.session();
    ok(&mut s, "CREATE TABLE t (id INT PRIMARY KEY, a INT)");
    ok(&mut s, "INSERT INTO t VALUES (0, 0)");
    for n in 1..=255 {
        let change = match n % 2 {
            1 => format!("ADD COLUMN c{n} INT DEFAULT {n} FIRST"),
            _ => format!("DROP COLUMN c{}", n - 1),
        };
        ok(&mut s, &format!("ALTER TABLE t {change}, ALGORITHM=INSTANT"));
        ok(&mut s, &format!("INSERT INTO t (id, a) VALUES ({n}, {n})"));
    }
    let all = "SELECT COUNT(*), SUM(id), SUM(a), SUM(c255) FROM t";
    let expected = ok(&mut s, all);
    assert_eq!(expected, ["256|32640|32640|65280"]);
    let versions = "SELECT total_row_versions FROM information_schema.innodb_tables WHERE name = 'd/t'";
    assert_eq!(ok(&mut s, versions), ["255"]);
    let add = "ALTER TABLE t ADD COLUMN z INT DEFAULT 1";
    let Err(refused) = run(&mut s, &format!("{add}, ALGORITHM=INSTANT")) else {
        panic!("it was done once more");
    };
    assert_eq!(refused.code, 4092, "{refused}");
    ok(&mut s, "ALTER TABLE t RENAME COLUMN a TO b, ALGORITHM=INSTANT");
    ok(&mut s, "ALTER TABLE t RENAME COLUMN b TO a, ALGORITHM=INSTANT");
    ok(&mut s, add);
    assert_eq!(ok(&mut s, versions), ["0"]);
    assert_eq!(ok(&mut s, all), expected);
    assert_eq!(ok(&mut s, "SELECT SUM(z) FROM t"), ["256"]);
    ok(&mut s, "ALTER TABLE t DROP COLUMN z, ALGORITHM=INSTANT");
    assert_eq!(ok(&mut s, all), expected);
}
