//! What comes before a statement is planned: recognising its shape, parsing it.
//!
//! ```sh
//! cargo bench -p tidemark-sql --bench statements
//! ```

use std::hint::black_box;
use tidemark_sql::parse::parse;
use tidemark_sql::parse::shape::Shape;
use tidemark_sql::types::SqlMode;
use tidemark_testing::bench::{line, time};

const STATEMENTS: [(&str, &str); 5] = [
    ("point", "SELECT c FROM t WHERE id = 42"),
    ("range", "SELECT SUM(k) FROM t WHERE id BETWEEN 10 AND 109"),
    ("change", "UPDATE t SET k = k + 1, c = 'some text' WHERE id = 42"),
    (
        "join",
        "SELECT a.c, b.c FROM t AS a JOIN t AS b ON b.id = a.k WHERE a.id BETWEEN 1 AND 10 ORDER BY a.c",
    ),
    (
        "five tables",
        "SELECT COUNT(*) FROM t AS a JOIN t AS b ON b.id = a.k JOIN t AS c ON c.id = b.k \
         JOIN t AS d ON d.id = c.k JOIN t AS e ON e.id = d.k WHERE a.k = 7 GROUP BY e.k HAVING COUNT(*) > 1",
    ),
];

fn main() {
    let mode = SqlMode::default();
    let mut shape = Shape::default();
    for (name, sql) in STATEMENTS {
        let took = time(100_000, || {
            assert!(shape.scan(black_box(sql.as_bytes()), 0, mode));
        });
        line(&format!("recognise the shape ({name}); bytes:"), sql.len(), took);
        let took = time(20_000, || {
            black_box(parse(black_box(sql.as_bytes()), 0, mode).expect("a statement"));
        });
        line(&format!("parse ({name}); bytes:"), sql.len(), took);
    }
}
