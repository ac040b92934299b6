//! What the planner makes of hundreds of queries: a file in `tests/plans` per subject, each query with its plan under it.
//!
//! ```text
//! # A comment.
//! > CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY (a))
//!
//! SELECT * FROM t WHERE id = 1
//!     -> Single-row index lookup on t using PRIMARY (id = 1)
//! ```
//!
//! A line that begins with `> ` is executed, any other is planned: what stands under it is the result of `EXPLAIN FORMAT=TREE`.
//! A line that ends with a backslash goes on in the next one. Every file has a database of its own. Plans depend on the number of rows, so
//! the tables hold some, the same in every run.
//!
//! `TIDEMARK_RECORD=1 cargo test -p tidemark-sql plans::` writes the files anew; the difference is then to be read. A plan says how
//! rows are found, never which, so no plan here can be wrong in its result; `tests/sql` sees to those.

use super::{Session, World, run};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The file as it reads with today's plans.
fn replay(text: &str, session: &mut Session) -> String {
    let mut seen = String::new();
    let mut statement = String::new();
    for line in text.lines().filter(|line| !line.starts_with("    ")) {
        seen.push_str(line);
        seen.push('\n');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(begun) = line.strip_suffix('\\') {
            statement.push_str(begun);
            continue;
        }
        statement.push_str(line);
        let sql = std::mem::take(&mut statement);
        if let Some(command) = sql.strip_prefix("> ") {
            if let Err(error) = run(session, command) {
                panic!("{command}: {error}");
            }
            continue;
        }
        match run(session, &format!("EXPLAIN FORMAT=TREE {sql}")) {
            Ok(rows) => rows
                .lines
                .iter()
                .flat_map(|row| row.lines())
                .for_each(|line| writeln!(seen, "    {line}").expect("a string")),
            Err(error) => writeln!(seen, "    error {}: {}", error.code, error.message).expect("a string"),
        }
    }
    seen
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plans")
}

fn play(name: &str) {
    let path = folder().join(name).with_extension("test");
    let expected = std::fs::read_to_string(&path).expect("a file of queries");
    let world = World::new(&format!("plans-{name}"));
    let mut session = world.session();
    let seen = replay(&expected, &mut session);
    session.end();
    if std::env::var_os("TIDEMARK_RECORD").is_some() {
        std::fs::write(&path, seen).expect("a file of queries");
        return;
    }
    let differing: Vec<String> = expected
        .lines()
        .zip(seen.lines())
        .enumerate()
        .filter(|(_, (expected, seen))| expected != seen)
        .map(|(n, (expected, seen))| {
            format!("{name}.test:{}\n  expected {expected}\n  seen     {seen}", n + 1)
        })
        .collect();
    assert!(
        seen == expected,
        "plans have changed; the first difference counts:\n{}",
        differing.join("\n")
    );
}

macro_rules! plans {
    ($($name:ident),* $(,)?) => {
        $(#[test] fn $name() { play(stringify!($name)) })*

        #[test]
        fn every_file_is_played() {
            let files = std::fs::read_dir(folder()).expect("the folder of the files");
            let mut found: Vec<String> = files
                .map(|file| file.expect("a file").path().with_extension("").file_name().expect("a name").to_string_lossy().into_owned())
                .collect();
            found.sort();
            let mut played = vec![$(stringify!($name)),*];
            played.sort();
            assert_eq!(found, played);
        }
    };
}

plans!(
    point,
    ranges,
    in_lists,
    like,
    or_and_null,
    composite,
    covering,
    order,
    limit,
    group,
    distinct,
    joins,
    outer_joins,
    subqueries,
    derived,
    unions,
    changes,
    types,
    hints,
    functions,
    constants,
    windows,
    generated,
    index_merge,
    skip_scan,
    rewrites,
    sampled,
);
