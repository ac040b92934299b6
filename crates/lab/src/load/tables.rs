//! The tables that a load works on: sysbench's, and those of the short workloads.
//!
//! They are made in the database that the server's URL names. `lab_tables` there lists what the lab has made and how large it
//! is: a table that is listed with the right size is used again, one that is there and not listed belongs to somebody else and
//! is left alone.

use crate::client::Client;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::load::random::Random;
use crate::server::Server;
use std::thread;

pub(crate) const C_LEN: usize = 119;
pub(crate) const PAD_LEN: usize = 59;
/// The length of an INSERT at which it is sent: far below the `max_allowed_packet` of any server.
const INSERT_LEN: usize = 256 << 10;
/// Tables that are filled at the same time.
const FILLED_AT_ONCE: usize = 4;

/// `sbtest1` to `sbtestN`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// How many.
    pub count: u32,
    /// Rows of each; at most what an INT counts.
    pub rows: u32,
}

impl Tables {
    /// Has the tables be there, as sysbench's `prepare` makes them.
    pub fn prepare(self, server: &Server, interrupt: &Interrupt) -> Result<(), Failure> {
        let mut client = server.connect()?;
        own_list(&mut client)?;
        let mut missing = Vec::new();
        for number in 1..=self.count {
            if claim(&mut client, &format!("sbtest{number}"), self.rows)? {
                missing.push(number);
            }
        }
        for numbers in missing.chunks(FILLED_AT_ONCE) {
            at_once(numbers, |number| {
                fill(&mut server.connect()?, number, self.rows, interrupt)
            })?;
        }
        Ok(())
    }
}

/// Does the work for each of these numbers, all at the same time, and returns when all are done.
pub(super) fn at_once(
    numbers: &[u32],
    work: impl Fn(u32) -> Result<(), Failure> + Sync,
) -> Result<(), Failure> {
    let work = &work;
    thread::scope(|scope| {
        let spawn = |&number| thread::Builder::new().spawn_scoped(scope, move || work(number));
        let threads: Vec<_> = numbers.iter().map(spawn).collect();
        threads.into_iter().try_for_each(|thread| {
            let done = thread.map_err(Failure::no_thread)?.join();
            done.unwrap_or_else(|_| Err(Failure::because("a thread that filled a table has panicked")))
        })
    })
}

/// Makes a small table anew by statements, the first of which drops it.
pub(crate) fn make(server: &Server, name: &str, statements: &[impl AsRef<str>]) -> Result<(), Failure> {
    let mut client = server.connect()?;
    own_list(&mut client)?;
    claim(&mut client, name, 0)?;
    for statement in statements {
        client.query(statement.as_ref())?;
    }
    list(&mut client, name, 0)
}

/// The list of what the lab has made.
pub(super) fn own_list(client: &mut Client) -> Result<(), Failure> {
    client.query(
        "CREATE TABLE IF NOT EXISTS lab_tables (name VARCHAR(64) NOT NULL PRIMARY KEY, size BIGINT NOT NULL)",
    )?;
    Ok(())
}

/// True if the table is to be made. An error if it is somebody else's.
pub(super) fn claim(client: &mut Client, name: &str, rows: u32) -> Result<bool, Failure> {
    let listed = client.query(&format!("SELECT size FROM lab_tables WHERE name = '{name}'"))?;
    if let Some(size) = listed.first().and_then(|row| row[0].as_deref()) {
        return Ok(size != rows.to_string().as_bytes());
    }
    let there = client.query(&client.dialect().find_table(name))?;
    if !there.is_empty() {
        return Err(Failure::because(format!(
            "the database has a table {name} that the lab has not made; name an empty database in the URL"
        )));
    }
    // Listed before it is there: one that was begun and not finished is the lab's, too.
    list(client, name, -1)?;
    Ok(true)
}

/// Puts a table into the list; a size below 0 has it made anew.
pub(super) fn list(client: &mut Client, name: &str, size: i64) -> Result<(), Failure> {
    client.query(&client.dialect().list_table(name, size))?;
    Ok(())
}

/// Does with a table that was filled what the server would do by itself soon.
pub(super) fn settle(client: &mut Client, table: &str) -> Result<(), Failure> {
    if let Some(sql) = client.dialect().settle(table) {
        client.query(&sql)?;
    }
    Ok(())
}

fn fill(client: &mut Client, number: u32, rows: u32, interrupt: &Interrupt) -> Result<(), Failure> {
    let table = format!("sbtest{number}");
    list(client, &table, -1)?;
    client.query(&format!("DROP TABLE IF EXISTS {table}"))?;
    let id = client.dialect().counted("INTEGER");
    client.query(&format!(
        "CREATE TABLE {table} (id {id}, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, \
         pad CHAR(60) DEFAULT '' NOT NULL, PRIMARY KEY (id))"
    ))?;
    let mut random = Random::new(u64::from(number));
    let mut inserts = Inserts::new(client, &format!("{table} (id, k, c, pad)"), interrupt);
    for id in 1..=rows {
        inserts.add(&row(id, rows, &mut random))?;
    }
    inserts.finish()?;
    client.query(&format!("CREATE INDEX k_{number} ON {table} (k)"))?;
    settle(client, &table)?;
    list(client, &table, i64::from(rows))
}

fn row(id: u32, rows: u32, random: &mut Random) -> String {
    let (mut c, mut pad) = ([0; C_LEN], [0; PAD_LEN]);
    let k = random.up_to(rows);
    random.digits(&mut c);
    random.digits(&mut pad);
    let text = |letters: &[u8]| String::from_utf8_lossy(letters).into_owned();
    format!("({id},{k},'{}','{}')", text(&c), text(&pad))
}

/// Rows that are inserted many at a time. Tables may take many minutes, so it is here that one looks whether the lab is to stop.
pub(super) struct Inserts<'a> {
    client: &'a mut Client,
    interrupt: &'a Interrupt,
    head: usize,
    sql: String,
}

impl<'a> Inserts<'a> {
    /// Into a table, which is given with its columns.
    pub(super) fn new(client: &'a mut Client, table: &str, interrupt: &'a Interrupt) -> Inserts<'a> {
        let sql = format!("INSERT INTO {table} VALUES ");
        Inserts {
            client,
            interrupt,
            head: sql.len(),
            sql,
        }
    }

    /// A row with its parentheses.
    pub(super) fn add(&mut self, row: &str) -> Result<(), Failure> {
        if self.sql.len() > self.head {
            self.sql.push(',');
        }
        self.sql.push_str(row);
        match self.sql.len() >= INSERT_LEN {
            true => self.send(),
            false => Ok(()),
        }
    }

    /// Sends what is left.
    pub(super) fn finish(mut self) -> Result<(), Failure> {
        match self.sql.len() > self.head {
            true => self.send(),
            false => Ok(()),
        }
    }

    fn send(&mut self) -> Result<(), Failure> {
        self.interrupt.check()?;
        self.client.query(&self.sql)?;
        self.sql.truncate(self.head);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_as_sysbench_makes_it() {
        let sql = row(7, 10, &mut Random::new(1));
        assert!(sql.starts_with("(7,"));
        let texts: Vec<&str> = sql.split('\'').collect();
        assert_eq!((texts[1].len(), texts[3].len()), (119, 59));
        assert_eq!(texts[1].matches('-').count(), 9);
        assert_eq!(texts[3].matches('-').count(), 4);
    }
}
