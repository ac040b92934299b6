//! Transactions that have written and stay open: what a list of running transactions is full of.

use crate::client::Client;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::load::tables;
use crate::server::Server;

const TABLE: [&str; 2] = [
    "DROP TABLE IF EXISTS open_writers",
    "CREATE TABLE open_writers (id INT PRIMARY KEY)",
];

/// Opens so many, each with a row of its own. They are rolled back when their connections go.
pub(super) fn hold(server: &Server, count: usize, interrupt: &Interrupt) -> Result<Vec<Client>, Failure> {
    tables::make(server, "open_writers", &TABLE)?;
    (0..count)
        .map(|number| {
            interrupt.check()?;
            let mut client = server.connect()?;
            client.query("BEGIN")?;
            client.query(&format!("INSERT INTO open_writers VALUES ({number})"))?;
            Ok(client)
        })
        .collect()
}
