//! sysbench's OLTP workloads: its statements, in its order, on its tables.
//!
//! ```text
//!  BEGIN
//!  10 point selects, of one table          c of a row
//!  4 ranges, each of a table               c; the sum of k; c in order; distinct c in order
//!  an update of k, an update of c, a DELETE and an INSERT of the same id
//!  COMMIT
//! ```
//!
//! Which of these there are makes the workload. Ids are drawn uniformly. A prepared statement is sent as a number and binary
//! values, as sysbench does by default; otherwise as a text with its values in it (`--db-ps-mode=disable`).

use crate::client::{Client, Error, Param, Statement};
use crate::load::Worker;
use crate::load::random::Random;
use crate::load::tables::{C_LEN, PAD_LEN, Tables};

/// The server cannot prepare this statement; it is sent as a text, as sysbench does.
const UNSUPPORTED_PREPARED: u16 = 1295;

/// What a transaction has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oltp {
    /// Its tables.
    pub tables: Tables,
    /// Within BEGIN and COMMIT.
    pub transaction: bool,
    /// So many rows by their primary key.
    pub points: u32,
    /// The four ranges, of so many rows.
    pub ranges: Option<u32>,
    /// What it changes.
    pub writes: Writes,
    /// Statements are prepared.
    pub prepared: bool,
}

/// What transactions change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Nothing.
    None,
    /// One in so many does all four changes.
    OneIn(u32),
    /// The update of `c` alone.
    NonIndexUpdate,
}

impl Oltp {
    /// `oltp_point_select`.
    pub fn point_select(tables: Tables) -> Oltp {
        Oltp {
            tables,
            transaction: false,
            points: 1,
            ranges: None,
            writes: Writes::None,
            prepared: true,
        }
    }

    /// `oltp_read_only`, with ranges of so many rows.
    pub fn read_only(tables: Tables, range_len: u32) -> Oltp {
        Oltp {
            transaction: true,
            points: 10,
            ranges: Some(range_len),
            ..Oltp::point_select(tables)
        }
    }

    /// `oltp_read_write`; one transaction in `ratio` writes.
    pub fn read_write(tables: Tables, ratio: u32) -> Oltp {
        Oltp {
            writes: Writes::OneIn(ratio),
            ..Oltp::read_only(tables, 100)
        }
    }

    /// `oltp_update_non_index`.
    pub fn update_non_index(tables: Tables) -> Oltp {
        Oltp {
            points: 0,
            writes: Writes::NonIndexUpdate,
            ..Oltp::point_select(tables)
        }
    }
}

/// A statement with its parameters left out, ready on one connection.
enum Ready {
    Prepared(Statement),
    /// The text around the parameters.
    Text(Vec<Vec<u8>>),
}

impl Ready {
    fn new(client: &mut Client, sql: &str, prepared: bool) -> Result<Ready, Error> {
        if prepared {
            match client.prepare(sql) {
                Ok(statement) => return Ok(Ready::Prepared(statement)),
                Err(e) if e.code() == Some(UNSUPPORTED_PREPARED) => {}
                Err(e) => return Err(e),
            }
        }
        Ok(Ready::Text(
            sql.split('?').map(|part| part.as_bytes().to_vec()).collect(),
        ))
    }

    fn run(&mut self, client: &mut Client, text: &mut Vec<u8>, params: &[Param<'_>]) -> Result<(), Error> {
        match self {
            Ready::Prepared(statement) => client.execute(statement, params)?,
            Ready::Text(parts) => {
                text.clear();
                text.extend_from_slice(&parts[0]);
                for (param, part) in params.iter().zip(&parts[1..]) {
                    match param {
                        Param::Int(value) => {
                            text.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
                        }
                        // Digits and dashes: nothing in them is to be escaped.
                        Param::Text(value) => {
                            text.push(b'\'');
                            text.extend_from_slice(value);
                            text.push(b'\'');
                        }
                    }
                    text.extend_from_slice(part);
                }
                client.run(text)?
            }
        };
        Ok(())
    }
}

/// The statements of one table.
struct OfTable {
    point: Ready,
    /// In the order in which they come.
    ranges: Vec<Ready>,
    update_k: Ready,
    update_c: Ready,
    delete: Ready,
    insert: Ready,
}

impl OfTable {
    fn new(client: &mut Client, number: u32, of: &Oltp) -> Result<OfTable, Error> {
        let table = format!("sbtest{number}");
        let has_all_writes = matches!(of.writes, Writes::OneIn(_));
        // What the workload does not use is not prepared: servers bound how many there may be.
        let mut ready = |used: bool, sql: String| Ready::new(client, &sql, of.prepared && used);
        let mut ranges = Vec::new();
        if of.ranges.is_some() {
            for (columns, order) in [
                ("c", ""),
                ("SUM(k)", ""),
                ("c", " ORDER BY c"),
                ("DISTINCT c", " ORDER BY c"),
            ] {
                let sql = format!("SELECT {columns} FROM {table} WHERE id BETWEEN ? AND ?{order}");
                ranges.push(ready(true, sql)?);
            }
        }
        Ok(OfTable {
            point: ready(of.points > 0, format!("SELECT c FROM {table} WHERE id=?"))?,
            ranges,
            update_k: ready(has_all_writes, format!("UPDATE {table} SET k=k+1 WHERE id=?"))?,
            update_c: ready(
                of.writes != Writes::None,
                format!("UPDATE {table} SET c=? WHERE id=?"),
            )?,
            delete: ready(has_all_writes, format!("DELETE FROM {table} WHERE id=?"))?,
            insert: ready(
                has_all_writes,
                format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
            )?,
        })
    }
}

/// One client's.
pub(super) struct OltpWorker {
    of: Oltp,
    random: Random,
    begin: Ready,
    commit: Ready,
    tables: Vec<OfTable>,
    text: Vec<u8>,
}

impl OltpWorker {
    pub(super) fn new(client: &mut Client, of: &Oltp, random: Random) -> Result<OltpWorker, Error> {
        let prepared = of.prepared && of.transaction;
        Ok(OltpWorker {
            begin: Ready::new(client, "BEGIN", prepared)?,
            commit: Ready::new(client, "COMMIT", prepared)?,
            tables: (1..=of.tables.count)
                .map(|number| OfTable::new(client, number, of))
                .collect::<Result<_, _>>()?,
            of: of.clone(),
            random,
            text: Vec::new(),
        })
    }

    fn table(&mut self) -> usize {
        self.random.up_to(self.of.tables.count) as usize - 1
    }

    fn id(&mut self) -> i32 {
        // Sizes of tables are bounded by that of INT; see Tables.
        self.random.up_to(self.of.tables.rows) as i32
    }

    fn reads(&mut self, client: &mut Client) -> Result<(), Error> {
        if self.of.points > 0 {
            let table = self.table();
            for _ in 0..self.of.points {
                let id = self.id();
                self.tables[table]
                    .point
                    .run(client, &mut self.text, &[Param::Int(id)])?;
            }
        }
        if let Some(len) = self.of.ranges {
            for which in 0..4 {
                let (table, id) = (self.table(), self.id());
                let last = id.saturating_add_unsigned(len - 1);
                let range = [Param::Int(id), Param::Int(last)];
                self.tables[table].ranges[which].run(client, &mut self.text, &range)?;
            }
        }
        Ok(())
    }

    fn update_c(&mut self, client: &mut Client) -> Result<(), Error> {
        let (table, id) = (self.table(), self.id());
        let mut c = [0; C_LEN];
        self.random.digits(&mut c);
        let params = [Param::Text(&c), Param::Int(id)];
        self.tables[table].update_c.run(client, &mut self.text, &params)
    }

    fn all_writes(&mut self, client: &mut Client) -> Result<(), Error> {
        let (table, id) = (self.table(), self.id());
        self.tables[table]
            .update_k
            .run(client, &mut self.text, &[Param::Int(id)])?;
        self.update_c(client)?;
        let (table, id, k) = (self.table(), self.id(), self.id());
        let (mut c, mut pad) = ([0; C_LEN], [0; PAD_LEN]);
        self.random.digits(&mut c);
        self.random.digits(&mut pad);
        let tables = &mut self.tables[table];
        tables.delete.run(client, &mut self.text, &[Param::Int(id)])?;
        let row = [Param::Int(id), Param::Int(k), Param::Text(&c), Param::Text(&pad)];
        tables.insert.run(client, &mut self.text, &row)
    }
}

impl Worker for OltpWorker {
    fn event(&mut self, client: &mut Client) -> Result<bool, Error> {
        if self.of.transaction {
            self.begin.run(client, &mut self.text, &[])?;
        }
        self.reads(client)?;
        match self.of.writes {
            Writes::None => {}
            Writes::OneIn(ratio) if self.random.up_to(ratio) > 1 => {}
            Writes::OneIn(_) => self.all_writes(client)?,
            Writes::NonIndexUpdate => self.update_c(client)?,
        }
        if self.of.transaction {
            self.commit.run(client, &mut self.text, &[])?;
        }
        Ok(true)
    }

    fn reuses_keys(&self) -> bool {
        matches!(self.of.writes, Writes::OneIn(_))
    }
}
