//! Workloads of few statements that sysbench lacks; `bench/lua` has the same for it.
//!
//! - [`ThreePoints`]: BEGIN, three rows by primary key, each of a table drawn anew, COMMIT, sent as texts (MySQL's bug #79005).
//! - [`HotRow`]: everybody adds one to the same row.
//! - [`Queue`]: some add at one end of a table, the others take from the other end and delete what they took.

use crate::client::{Client, Dialect, Error};
use crate::load::Worker;
use crate::load::random::Random;
use crate::load::tables::Tables;
use std::io::Write;

pub(super) struct ThreePoints {
    pub(super) tables: Tables,
    pub(super) random: Random,
    pub(super) text: Vec<u8>,
}

impl Worker for ThreePoints {
    fn event(&mut self, client: &mut Client) -> Result<bool, Error> {
        client.run(b"BEGIN")?;
        for _ in 0..3 {
            let number = self.random.up_to(self.tables.count);
            let id = self.random.up_to(self.tables.rows);
            self.text.clear();
            // Bytes in memory take whatever is written.
            let _ = write!(self.text, "SELECT * FROM sbtest{number} WHERE id={id}");
            client.run(&self.text)?;
        }
        client.run(b"COMMIT")?;
        Ok(true)
    }
}

pub(super) struct HotRow;

impl HotRow {
    /// The table it needs.
    pub(super) const TABLE: [&str; 3] = [
        "DROP TABLE IF EXISTS hot",
        "CREATE TABLE hot (id INT PRIMARY KEY, c BIGINT NOT NULL)",
        "INSERT INTO hot VALUES (1, 0)",
    ];
}

impl Worker for HotRow {
    fn event(&mut self, client: &mut Client) -> Result<bool, Error> {
        client.run(b"UPDATE hot SET c = c + 1 WHERE id = 1")?;
        Ok(true)
    }
}

/// What one client of a queue does.
pub(super) enum Queue {
    Produce,
    Consume { skip_locked: bool },
}

impl Queue {
    /// The table they need.
    pub(super) fn table(dialect: Dialect) -> [String; 3] {
        let id = dialect.counted("BIGINT");
        [
            "DROP TABLE IF EXISTS queue".to_owned(),
            format!("CREATE TABLE queue (id {id} PRIMARY KEY, body VARCHAR(200) NOT NULL)"),
            "INSERT INTO queue (body) VALUES (REPEAT('q', 100))".to_owned(),
        ]
    }
}

impl Worker for Queue {
    /// Messages taken count.
    fn event(&mut self, client: &mut Client) -> Result<bool, Error> {
        let Queue::Consume { skip_locked } = self else {
            client.run(b"INSERT INTO queue (body) VALUES (REPEAT('q', 100))")?;
            return Ok(false);
        };
        client.run(b"BEGIN")?;
        let rows = client.query(match skip_locked {
            false => "SELECT id, body FROM queue ORDER BY id LIMIT 1 FOR UPDATE",
            true => "SELECT id, body FROM queue ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED",
        })?;
        let id = rows.first().and_then(|row| row[0].as_deref());
        if let Some(id) = id {
            client.run(&[b"DELETE FROM queue WHERE id = ", id].concat())?;
        }
        client.run(b"COMMIT")?;
        Ok(id.is_some())
    }
}
