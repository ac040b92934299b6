//! A server without a database: it lets everybody in and gives every SELECT the same row. What a client reaches with
//! it is what the client, the protocol and the machine allow; a real server can only be slower.
//!
//!     nullserver PORT [ROWS]     ROWS: how many rows a range select gets (100)
//!
//! One thread per connection with blocking reads and writes, as Tidemark has it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

const SBTEST_C: &[u8] = b"12345678901-12345678901-12345678901-12345678901-12345678901-\
    12345678901-12345678901-12345678901-12345678901-12345678901";
const OK: &[u8] = b"\x00\x00\x00\x02\x00\x00\x00";
const EOF: &[u8] = b"\xfe\x00\x00\x02\x00";

/// Packets of one answer.
#[derive(Default)]
struct Answer {
    bytes: Vec<u8>,
    sequence: u8,
}

impl Answer {
    fn packet(&mut self, payload: &[u8]) {
        let header = payload.len() as u32 | (self.sequence as u32) << 24;
        self.bytes.extend_from_slice(&header.to_le_bytes());
        self.bytes.extend_from_slice(payload);
        self.sequence = self.sequence.wrapping_add(1);
    }

    fn column(&mut self) {
        let mut payload = Vec::new();
        for name in ["def", "sbtest", "sbtest1", "sbtest1", "c", "c"] {
            payload.push(name.len() as u8);
            payload.extend_from_slice(name.as_bytes());
        }
        payload.extend_from_slice(b"\x0c\x2d\x00\xe0\x01\x00\x00\xfe\x00\x00\x00\x00\x00");
        self.packet(&payload);
    }

    fn rows(&mut self, count: usize, binary: bool) {
        self.packet(&[1]);
        self.column();
        self.packet(EOF);
        let mut row = if binary { vec![0, 0] } else { Vec::new() };
        row.push(SBTEST_C.len() as u8);
        row.extend_from_slice(SBTEST_C);
        for _ in 0..count {
            self.packet(&row);
        }
        self.packet(EOF);
    }

    fn reply(&mut self, rows: usize, binary: bool) {
        match rows {
            0 => self.packet(OK),
            count => self.rows(count, binary),
        }
    }
}

/// How many rows a statement is given; 0 for one that has none.
fn rows_of(statement: &[u8], range_rows: usize) -> usize {
    let has = |word: &[u8]| statement.windows(word.len()).any(|part| part == word);
    let selects = statement
        .get(..6)
        .is_some_and(|verb| verb.eq_ignore_ascii_case(b"select"));
    match selects {
        false => 0,
        true if has(b"BETWEEN") && !has(b"SUM(") => range_rows,
        true => 1,
    }
}

/// Answers one command; `None` when the client is leaving. A prepared statement's number says how many rows it has.
fn answer(command: &[u8], range_rows: usize, out: &mut Answer) -> Option<()> {
    out.sequence = 1;
    match command {
        [0x01, ..] => return None,
        [0x03, statement @ ..] => out.reply(rows_of(statement, range_rows), false),
        [0x16, statement @ ..] => {
            let rows = rows_of(statement, range_rows);
            let (columns, params) = (
                (rows > 0) as u16,
                statement.iter().filter(|b| **b == b'?').count() as u16,
            );
            let mut payload = vec![0];
            payload.extend_from_slice(&(rows as u32 + 1).to_le_bytes());
            payload.extend_from_slice(&columns.to_le_bytes());
            payload.extend_from_slice(&params.to_le_bytes());
            payload.extend_from_slice(&[0, 0, 0]);
            out.packet(&payload);
            for count in [params, columns].into_iter().filter(|count| *count > 0) {
                (0..count).for_each(|_| out.column());
                out.packet(EOF);
            }
        }
        [0x17, a, b, c, d, ..] => out.reply(u32::from_le_bytes([*a, *b, *c, *d]) as usize - 1, true),
        [0x19, ..] => {}
        _ => out.packet(OK),
    }
    Some(())
}

fn greeting() -> Vec<u8> {
    let capabilities: u32 = 0x000b_a20d;
    let mut payload = b"\x0a8.0.0-null\0\x01\0\0\x0012345678\0".to_vec();
    payload.extend_from_slice(&(capabilities as u16).to_le_bytes());
    payload.extend_from_slice(&[45, 2, 0]);
    payload.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
    payload.push(21);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"123456789012\0mysql_native_password\0");
    payload
}

fn serve(mut client: TcpStream, range_rows: usize) -> std::io::Result<()> {
    client.set_nodelay(true)?;
    let mut out = Answer::default();
    out.packet(&greeting());
    client.write_all(&out.bytes)?;
    let (mut input, mut portion, mut logged_in) = (Vec::new(), [0; 16 << 10], false);
    loop {
        let read = client.read(&mut portion)?;
        if read == 0 {
            return Ok(());
        }
        input.extend_from_slice(&portion[..read]);
        out.bytes.clear();
        let mut at = 0;
        while let Some(header) = input[at..].first_chunk::<4>() {
            let len = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
            let Some(command) = input[at + 4..].get(..len) else {
                break;
            };
            if !logged_in {
                (logged_in, out.sequence) = (true, 2);
                out.packet(OK);
            } else if answer(command, range_rows, &mut out).is_none() {
                return Ok(());
            }
            at += 4 + len;
        }
        input.drain(..at);
        client.write_all(&out.bytes)?;
    }
}

fn main() {
    let arguments: Vec<usize> = std::env::args()
        .skip(1)
        .filter_map(|text| text.parse().ok())
        .collect();
    let [port, more @ ..] = arguments.as_slice() else {
        eprintln!("usage: nullserver PORT [ROWS]");
        std::process::exit(2);
    };
    let range_rows = more.first().copied().unwrap_or(100);
    let listener = TcpListener::bind(("127.0.0.1", *port as u16)).expect("the port is free");
    for client in listener.incoming().flatten() {
        thread::spawn(move || serve(client, range_rows));
    }
}
