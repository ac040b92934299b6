//! Foreign keys, as far as golden scripts do not reach: restarts, accounts, and more rows than are tested at a time.

use super::{World, fails, ok, run};

#[test]
fn foreign_keys_survive_a_restart() {
    let mut world = World::new("foreign_keys");
    let mut s = world.root();
    ok(&mut s, "CREATE TABLE d.p (id INT PRIMARY KEY)");
    ok(
        &mut s,
        "CREATE TABLE d.c (id INT PRIMARY KEY, a INT, CONSTRAINT f FOREIGN KEY (a) REFERENCES d.p(id) ON DELETE CASCADE)",
    );
    ok(&mut s, "INSERT INTO d.p VALUES (1), (2)");
    ok(&mut s, "INSERT INTO d.c VALUES (1, 1), (2, 2)");
    drop(s);
    world.restart();
    let mut s = world.root();
    assert_eq!(fails(&mut s, "INSERT INTO d.c VALUES (3, 3)"), 1452);
    assert_eq!(fails(&mut s, "DROP TABLE d.p"), 3730);
    ok(&mut s, "DELETE FROM d.p WHERE id = 1");
    assert_eq!(ok(&mut s, "SELECT * FROM d.c"), ["2|2"]);
    ok(&mut s, "RENAME TABLE d.p TO d.q");
    drop(s);
    world.restart();
    let mut s = world.root();
    ok(&mut s, "DELETE FROM d.q");
    assert_eq!(ok(&mut s, "SELECT COUNT(*) FROM d.c"), ["0"]);
    ok(&mut s, "ALTER TABLE d.c DROP FOREIGN KEY f");
    ok(&mut s, "INSERT INTO d.c VALUES (3, 3)");
}

#[test]
fn a_new_constraint_is_held_against_all_rows() {
    let world = World::new("foreign_key_rows");
    let mut s = world.session();
    ok(&mut s, "CREATE TABLE p (id INT PRIMARY KEY)");
    ok(&mut s, "CREATE TABLE c (id INT PRIMARY KEY, a INT, b INT)");
    let numbers = |from: u32, to: u32| (from..to).map(|n| format!("({n})")).collect::<Vec<_>>().join(",");
    ok(&mut s, &format!("INSERT INTO p VALUES {}", numbers(0, 3000)));
    ok(&mut s, "INSERT INTO c SELECT id, id, id FROM p");
    ok(&mut s, "INSERT INTO c SELECT id + 3000, id, NULL FROM p");
    ok(&mut s, "UPDATE c SET b = 3000 WHERE id = 2999");
    let done = run(&mut s, "ALTER TABLE c ADD FOREIGN KEY (a) REFERENCES p(id)").unwrap();
    assert_eq!(done.lines, ["ok 6000 Records: 6000  Duplicates: 0  Warnings: 0"]);
    assert_eq!(
        fails(&mut s, "ALTER TABLE c ADD FOREIGN KEY (b) REFERENCES p(id)"),
        1452
    );
    ok(&mut s, "UPDATE c SET b = 0 WHERE id = 2999");
    ok(
        &mut s,
        "ALTER TABLE c ADD FOREIGN KEY (b) REFERENCES p(id) ON DELETE CASCADE",
    );
    assert_eq!(fails(&mut s, "DELETE FROM p WHERE id = 7"), 1451);
}

#[test]
fn an_account_learns_nothing_of_tables_it_may_not_see() {
    let world = World::new("foreign_key_accounts");
    let mut s = world.root();
    ok(&mut s, "CREATE TABLE d.p (id INT PRIMARY KEY)");
    ok(
        &mut s,
        "CREATE TABLE d.c (id INT PRIMARY KEY, a INT REFERENCES d.p(id))",
    );
    ok(&mut s, "INSERT INTO d.p VALUES (1)");
    ok(&mut s, "INSERT INTO d.c VALUES (1, 1)");
    for (user, table) in [("child", "c"), ("parent", "p")] {
        ok(&mut s, &format!("CREATE USER {user}"));
        ok(
            &mut s,
            &format!("GRANT INSERT, DELETE, ALTER ON d.{table} TO {user}"),
        );
    }
    let mut child = world.connect("child", None);
    assert_eq!(fails(&mut child, "INSERT INTO d.c VALUES (2, 2)"), 1216);
    ok(&mut child, "INSERT INTO d.c VALUES (3, 1)");
    assert_eq!(
        fails(
            &mut child,
            "ALTER TABLE d.c ADD FOREIGN KEY (id) REFERENCES d.p(id)"
        ),
        1142
    );
    let mut parent = world.connect("parent", None);
    assert_eq!(fails(&mut parent, "DELETE FROM d.p"), 1217);
}
