//! Whatever a client sends, before it is let in and after, text or binary: its connection ends or goes on, no statement of
//! it panics, an answer comes within seconds, and the next client is served.
//!
//! Each input is played against a real server in this process. A panic would be caught there and answered, so it is noticed by
//! the hook.

use std::cell::Cell;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tidemark_server::{Server, ServerOptions};
use tidemark_sql::{Database, Options, run_trusted};
use tidemark_testing::fuzz::Corpus;

static PANICS: AtomicU64 = AtomicU64::new(0);

/// An answer that takes longer is a hang: nothing that is sent may run for long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database serves so many inputs.
const INPUTS_OF_DATABASE: u64 = 5000;

struct Running {
    server: Option<Server>,
    database: Arc<Database>,
    dir: PathBuf,
    inputs: Cell<u64>,
}

const SETUP: [&str; 4] = [
    "DROP DATABASE IF EXISTS d",
    "CREATE DATABASE d",
    "CREATE TABLE d.t (id INT PRIMARY KEY, a INT, b VARCHAR(20), c DECIMAL(8,2), d DATETIME(3), e DOUBLE, j JSON, x BLOB, KEY (a), KEY (b))",
    "INSERT INTO d.t VALUES (1, 1, 'a', 1.5, '2024-02-29 12:30:00', 0.5, '{}', 'x'), (2, NULL, 'B', -2, NULL, 1e10, '[]', NULL)",
];

impl Running {
    fn start(name: &str) -> Running {
        let dir = std::env::temp_dir().join(format!("tidemark-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let pairs = [
            ("innodb_buffer_pool_size", "32M"),
            ("innodb_flush_log_at_trx_commit", "0"),
            ("max_allowed_packet", "1M"),
            ("max_execution_time", "500"),
            ("lock_wait_timeout", "1"),
            ("innodb_lock_wait_timeout", "1"),
            ("max_connect_errors", "18446744073709551615"),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_string(), Some(value.to_string())));
        let database = tidemark_sql::open(Options::from_pairs(dir.clone(), pairs).unwrap()).unwrap();
        let listen = ServerOptions {
            socket: Some(dir.join("socket")),
            ..ServerOptions::default()
        };
        for sql in ["CREATE USER fuzz@localhost", "GRANT ALL ON d.* TO fuzz@localhost"] {
            run_trusted(&database, sql.as_bytes()).unwrap();
        }
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            PANICS.fetch_add(1, Ordering::SeqCst);
            before(info);
        }));
        Running {
            server: Some(Server::start(Arc::clone(&database), &listen).unwrap()),
            database,
            dir,
            inputs: Cell::new(0),
        }
    }

    fn connect(&self) -> Client {
        let stream = UnixStream::connect(self.dir.join("socket")).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client {
            stream,
            answer: Vec::new(),
        }
    }

    /// A client that is in, with statements that it has prepared.
    fn log_in(&self) -> Client {
        let mut client = self.connect();
        client.send(1, &login("fuzz", "d"));
        for sql in PREPARED {
            client.send(0, &[&[0x16], sql.as_bytes()].concat());
        }
        assert!(client.is_served(), "nobody is let in");
        client
    }

    /// Counts an input; now and then everything is made anew.
    fn next(&self) -> bool {
        let inputs = self.inputs.get();
        self.inputs.set(inputs + 1);
        let anew = inputs.is_multiple_of(INPUTS_OF_DATABASE);
        if anew {
            for sql in SETUP {
                // What is not there is an error, and no matter.
                let _ = run_trusted(&self.database, sql.as_bytes());
            }
        }
        anew
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        let _ = self.database.shutdown();
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// What each client has prepared: numbers 1 and up.
const PREPARED: [&str; 6] = [
    "SELECT ?, ? + 1, CONCAT(?, 'x')",
    "SELECT * FROM t WHERE id = ? OR b = ? OR d < ? ORDER BY ? LIMIT ?",
    "INSERT IGNORE INTO t (id, a, b, c, d, e, j, x) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
    "UPDATE t SET x = ?, d = ? WHERE a = ?",
    "SELECT a.id, b.* FROM t a, t b WHERE ? BETWEEN a.a AND b.c",
    "DELETE FROM t WHERE id > ?",
];

struct Client {
    stream: UnixStream,
    answer: Vec<u8>,
}

impl Client {
    fn send(&mut self, sequence: u8, payload: &[u8]) {
        let header = payload.len() as u32 | u32::from(sequence) << 24;
        // The server may have hung up already; that shows when reading.
        let _ = self.stream.write_all(&[&header.to_le_bytes(), payload].concat());
    }

    /// Whether the server has answered all and goes on; false if it has hung up.
    fn is_served(&mut self) -> bool {
        const MARK: &[u8] = b"the-end-of-the-answer";
        self.answer.clear();
        self.send(0, b"\x03SELECT CONCAT('the-end-of', '-the-answer')");
        let mut piece = [0; 16 << 10];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return false,
                Ok(n) => self.answer.extend_from_slice(&piece[..n]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    panic!("the server neither answers nor hangs up")
                }
                Err(_) => return false,
            }
            // Behind the row stands one more packet, without a body of any length.
            let from = self.answer.len().saturating_sub(MARK.len() + 64);
            if self.answer[from..].windows(MARK.len()).any(|piece| piece == MARK) {
                return true;
            }
            let keep = self.answer.len().saturating_sub(256);
            self.answer.drain(..keep);
        }
    }

    /// Says nothing more, and reads until the server hangs up.
    fn drain(mut self) {
        let _ = self.stream.shutdown(std::net::Shutdown::Write);
        let mut piece = [0; 4096];
        loop {
            match self.stream.read(&mut piece) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    panic!("the server does not hang up")
                }
                Err(_) => return,
            }
        }
    }
}

fn login(user: &str, database: &str) -> Vec<u8> {
    let capabilities: u32 = 0x200 | 0x2000 | 0x8000 | 0x8 | 0x1_0000 | 0x8_0000;
    let mut packet = capabilities.to_le_bytes().to_vec();
    packet.extend_from_slice(&(1u32 << 24).to_le_bytes());
    packet.push(45);
    packet.extend_from_slice(&[0; 23]);
    packet.extend_from_slice(format!("{user}\0\0{database}\0caching_sha2_password\0").as_bytes());
    packet
}

/// No statement may have panicked.
fn nobody_panicked() {
    assert_eq!(
        PANICS.swap(0, Ordering::SeqCst),
        0,
        "a thread of the server panicked"
    );
}

/// A packet's payload, with its header.
fn framed(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let header = payload.len() as u32 | u32::from(sequence) << 24;
    [&header.to_le_bytes(), payload].concat()
}

/// All that comes before a client is in, and what it may send behind that.
fn logins(running: &Running, count: u64) {
    let mut native = login("fuzz", "d");
    let at = native.len() - b"caching_sha2_password\0".len();
    native.truncate(at);
    native.extend_from_slice(b"mysql_native_password\0");
    let tls = [&0x0000_0A00u32.to_le_bytes()[..], &[0; 28]].concat();
    let corpus = Corpus::new("logins")
        .input(framed(1, &login("fuzz", "d")))
        .input(framed(1, &login("root", "")))
        .input(framed(1, &login("nobody", "mysql")))
        .input(framed(1, &native))
        .input(framed(1, &tls))
        .input(
            [
                framed(1, &login("root", "")),
                framed(3, b"\x02"),
                framed(5, &[0; 256]),
            ]
            .concat(),
        )
        .input(
            [
                framed(1, &login("fuzz", "d")),
                framed(0, b"\x0e"),
                framed(0, b"\x03SELECT 1"),
            ]
            .concat(),
        )
        .input(
            [
                framed(1, &login("fuzz", "d")),
                framed(0, b"\x11fuzz\0\0d\0\x2d\0caching_sha2_password\0"),
            ]
            .concat(),
        );
    corpus.play(count, |input| {
        running.next();
        let mut client = running.connect();
        let _ = client.stream.write_all(input);
        client.drain();
        nobody_panicked();
    });
}

/// A command behind the other, on a connection that is there as long as the server lets it.
fn commands(running: &Running, count: u64) {
    let mut corpus = Corpus::new("commands")
        .words("SELECT t id a b c d e j x WHERE = 1 NULL 'a' ? ( ) , ; SET NAMES latin1 BEGIN COMMIT");
    for command in [
        0x01, 0x04, 0x05, 0x07, 0x09, 0x0d, 0x0e, 0x19, 0x1b, 0x1c, 0x1d, 0x1f, 0xff,
    ] {
        corpus = corpus.input([command, 1, 0, 0, 0, 1, 0, 0, 0]);
    }
    for text in [
        &b"\x02d"[..],
        b"\x04t\0%",
        b"\x03SELECT * FROM t",
        b"\x03SET @a = 1; SELECT @a",
        b"\x16SELECT ? FROM t",
        b"\x11fuzz\0\0d\0\x2d\0caching_sha2_password\0",
    ] {
        corpus = corpus.input(text);
    }
    // COM_STMT_SEND_LONG_DATA, and executions: number, flags, one iteration, NULL bits, types, values.
    corpus = corpus
        .input(b"\x18\x03\0\0\0\x07\0long data".as_slice())
        .input(b"\x1a\x01\0\0\0".as_slice())
        .input(b"\x1c\x02\0\0\0\x05\0\0\0".as_slice())
        .input(b"\x17\x01\0\0\0\x00\x01\0\0\0\x00\x01\x08\x00\xfd\x00\x05\x00\x2a\0\0\0\0\0\0\0\x03abc\0\0\0\0\0\0\xf0\x3f".as_slice())
        .input(b"\x17\x02\0\0\0\x01\x01\0\0\0\x00\x01\x03\x00\xfd\x00\x0c\x00\x01\x00\x08\x00\x01\0\0\0\x01a\x0b\xe8\x07\x02\x1d\x0c\x22\x38\x40\xe2\x01\x00\x01\x02\0\0\0\0\0\0\0".as_slice())
        .input(b"\x17\x03\0\0\0\x00\x01\0\0\0\x80\x01\x03\x00\x02\x80\xfd\x00\xf6\x00\x0b\x00\x04\x00\xfe\x00\xfc\x00\x07\0\0\0\xff\xff\x01z\x041.50\x08\0\x01\0\0\0\x02\x03\x04\0\0\xc0\x3f\x02{}".as_slice())
        .input(b"\x17\x04\0\0\0\x00\x01\0\0\0\x00\x01\xfb\x00\x0a\x00\x09\x80\x02\0\0\x04\xe8\x07\x02\x1d\x01\0\0\0".as_slice())
        .input(b"\x17\x06\0\0\0\x00\x01\0\0\0\x00\x01\x10\x00\x01\x07".as_slice());
    let mut client = None;
    corpus.play(count, |input| {
        if running.next() {
            client = None;
        }
        let mut served = client.take().unwrap_or_else(|| running.log_in());
        served.send(0, input);
        if served.is_served() {
            client = Some(served);
        }
        nobody_panicked();
    });
}

/// One server for both: the hook for panics is the process's.
#[test]
fn connections_of_any_bytes() {
    let running = Running::start("fuzz-connections");
    logins(&running, 500);
    commands(&running, 2000);
}
