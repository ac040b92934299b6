//! A panic ends its statement and its connection, wherever it happens: the transaction is rolled back, no lock, latch or
//! mutex is left, and everybody else goes on. A release has no places to panic at.

#![cfg(debug_assertions)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;
use tidemark_engine::failpoint;
use tidemark_server::{Server, ServerOptions};
use tidemark_sql::Options;

struct Client(TcpStream);

impl Client {
    fn log_in(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut client = Client(stream);
        client.packet().expect("a greeting");
        let capabilities: u32 = 0x200 | 0x2000 | 0x8000 | 0x8_0000;
        let mut login = capabilities.to_le_bytes().to_vec();
        login.extend_from_slice(&(1u32 << 24).to_le_bytes());
        login.push(45);
        login.extend_from_slice(&[0; 23]);
        login.extend_from_slice(b"root\0\0caching_sha2_password\0");
        client.send(1, &login);
        assert_eq!(client.packet().expect("an answer")[0], 0);
        client
    }

    fn send(&mut self, sequence: u8, payload: &[u8]) {
        let header = payload.len() as u32 | (sequence as u32) << 24;
        let _ = self.0.write_all(&[&header.to_le_bytes(), payload].concat());
    }

    fn packet(&mut self) -> Option<Vec<u8>> {
        let mut header = [0; 4];
        self.0.read_exact(&mut header).ok()?;
        let mut payload = vec![0; u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize];
        self.0.read_exact(&mut payload).ok()?;
        Some(payload)
    }

    /// The first packet of a statement's answer. Rows are read to their end, and the first one's only column returned.
    fn query(&mut self, sql: &str) -> Result<String, u16> {
        self.send(0, &[&[3], sql.as_bytes()].concat());
        let first = self.packet().expect("an answer");
        match first[0] {
            0 => return Ok(String::new()),
            0xff => return Err(u16::from_le_bytes([first[1], first[2]])),
            _ => {}
        }
        let (mut ends, mut value) = (0, None);
        while ends < 2 {
            let packet = self.packet().expect("a packet of the result");
            match packet[0] {
                0xfe if packet.len() < 9 => ends += 1,
                0xff => return Err(u16::from_le_bytes([packet[1], packet[2]])),
                _ if ends == 1 => value = value.or(Some(packet)),
                _ => {}
            }
        }
        let row = value.unwrap_or_default();
        Ok(String::from_utf8_lossy(row.get(1..).unwrap_or_default()).into_owned())
    }

    fn ok(&mut self, sql: &str) -> String {
        self.query(sql)
            .unwrap_or_else(|code| panic!("{sql}: error {code}"))
    }
}

#[test]
fn a_panic_at_any_floor_ends_one_statement() {
    let datadir = std::env::temp_dir().join(format!("tidemark-panics-{}", std::process::id()));
    let pairs = [
        ("innodb_buffer_pool_size", "16M"),
        ("innodb_lock_wait_timeout", "2"),
        ("lock_wait_timeout", "5"),
    ];
    let pairs = pairs.map(|(name, value)| (name.to_string(), Some(value.to_string())));
    let database = tidemark_sql::open(Options::from_pairs(datadir.clone(), pairs).unwrap()).unwrap();
    let listen = ServerOptions {
        bind_address: "127.0.0.1".into(),
        ..ServerOptions::default()
    };
    let server = Server::start(Arc::clone(&database), &listen).unwrap();
    let address = server.addresses()[0];
    let mut other = Client::log_in(address);
    other.ok("CREATE DATABASE d");
    other.ok("CREATE TABLE d.t (id INT PRIMARY KEY, v INT, KEY (v))");
    other.ok("INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)");

    let insert = "INSERT INTO d.t VALUES (10, 10), (11, 11), (12, 12)";
    for (place, passes, statement) in [
        ("parse", 0, "SELECT 'never seen', v FROM d.t"),
        ("plan", 0, "SELECT v + 1 FROM d.t WHERE v > 1"),
        ("execute", 0, "SELECT COUNT(*) FROM d.t WHERE v < 9"),
        ("execute", 0, insert),
        ("engine", 0, insert),
        ("engine", 2, insert),
        ("pages", 0, insert),
        ("pages", 3, insert),
        ("pages", 1, "UPDATE d.t SET v = v + 100"),
        ("commit", 0, insert),
        ("definitions", 0, "CREATE TABLE d.made (id INT PRIMARY KEY)"),
        ("definitions", 0, "ALTER TABLE d.t ADD COLUMN w INT"),
        ("definitions", 0, "ALTER TABLE d.t ADD INDEX w (v, id)"),
        ("build", 0, "ALTER TABLE d.t ADD UNIQUE INDEX w (v, id)"),
        ("accounts", 0, "CREATE USER made@localhost"),
    ] {
        for in_transaction in [false, true] {
            let what = format!("{place} after {passes}, {statement}, in a transaction: {in_transaction}");
            let mut client = Client::log_in(address);
            if in_transaction {
                client.ok("BEGIN");
                client.ok("UPDATE d.t SET v = v + 1000 WHERE id = 1");
                client.ok("INSERT INTO d.t VALUES (20, 20)");
            }
            failpoint::arm(place, passes);
            let ended = client.query(statement);
            if in_transaction && place == "commit" {
                // The statement does not commit by itself.
                assert!(ended.is_ok(), "{what}: {ended:?}");
                assert_eq!(client.query("COMMIT"), Err(1105), "{what}");
            } else {
                assert_eq!(ended, Err(1105), "{what}");
            }
            assert!(failpoint::is_spent(), "{what}: the place was not reached");
            assert!(client.packet().is_none(), "{what}: the connection goes on");

            let rows = "SELECT GROUP_CONCAT(id, ':', v ORDER BY id) FROM d.t";
            // What an implicit commit has committed before the panic is there to stay.
            if in_transaction && matches!(place, "definitions" | "build" | "accounts") {
                other.ok("UPDATE d.t SET v = 1 WHERE id = 1");
                other.ok("DELETE FROM d.t WHERE id = 20");
            }
            assert_eq!(other.ok(rows), "1:1,2:2,3:3", "{what}");
            // Rows, gaps, the table's name and the right to change definitions and accounts are free.
            other.ok("UPDATE d.t SET v = v + 1");
            other.ok("UPDATE d.t SET v = v - 1");
            other.ok("INSERT INTO d.t VALUES (10, 10), (20, 20)");
            other.ok("DELETE FROM d.t WHERE id > 3");
            other.ok("ALTER TABLE d.t ADD COLUMN x INT");
            other.ok("ALTER TABLE d.t DROP COLUMN x");
            other.ok("CREATE USER after@localhost");
            other.ok("DROP USER after@localhost");
            assert_eq!(
                other.ok("SELECT COUNT(*) FROM information_schema.processlist"),
                "1",
                "{what}"
            );
        }
    }
    drop(other);
    server.stop();
    database.shutdown().unwrap();
    std::fs::remove_dir_all(&datadir).unwrap();
}
